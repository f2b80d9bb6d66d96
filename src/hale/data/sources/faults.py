"""Faults: what is wrong with the rows of a file, told together in one error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hale.errors import SourceError

# Faults that an error spells out; the others are counted.
SHOWN = 20


class Fault(NamedTuple):
    """Something wrong with one row."""

    place: int  # its number, from 1
    what: str


def told(faults: Iterable[Fault], unit: str) -> tuple[str, ...]:
    """The faults as texts, by place."""
    return tuple(f"{unit} {fault.place}: {fault.what}" for fault in sorted(faults))


def refuse(source: str, faults: Sequence[Fault], *, unit: str, skip_bad: bool) -> None:
    """Raise one error for all faults, unless they are to be skipped."""
    if not faults or skip_bad:
        return
    if len(faults) == 1:
        place, what = faults[0]
        hint = "; mend it, or leave it out with --skip-bad (skip_bad=True)"
        if unit == "line":
            raise SourceError(what + hint, source=source, line=place)
        raise SourceError(f"{unit} {place}: {what}{hint}", source=source)
    lines = [f"  - {text}" for text in told(sorted(faults)[:SHOWN], unit)]
    if len(faults) > SHOWN:
        lines.append(f"  - and {len(faults) - SHOWN:,} more")
    raise SourceError(
        f"{len(faults):,} bad {unit}s; mend them, or leave them out with --skip-bad "
        "(skip_bad=True):\n" + "\n".join(lines),
        source=source,
    )

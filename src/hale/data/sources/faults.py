"""Faults: what is wrong with the rows of a file, told together in one error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from typing import NamedTuple

from hale.errors import SourceError

# Faults that are spelled out; the others are counted.
SHOWN = 20


class Fault(NamedTuple):
    """Something wrong with one row."""

    place: int  # its number, from 1
    what: str


class Faults:
    """The first of some faults, by place, and how many there are: as few as anybody reads.

    A file of another format than its name says has a fault in each of ten million lines.
    """

    def __init__(self, faults: Iterable[Fault] = (), count: int | None = None) -> None:
        """Keep the first of ``faults``, which are all there are unless ``count`` says more."""
        given = list(faults)
        self.count = len(given) if count is None else count
        self._first = tuple(nsmallest(SHOWN, given))

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._first)

    def __bool__(self) -> bool:
        return self.count > 0

    def __add__(self, other: Faults) -> Faults:
        return Faults((*self, *other), self.count + other.count)

    def told(self, unit: str) -> tuple[str, ...]:
        """The first as texts, and the number of the others."""
        texts = [f"{unit} {fault.place}: {fault.what}" for fault in self]
        if self.count > len(texts):
            texts.append(f"and {self.count - len(texts):,} more")
        return tuple(texts)

    def refuse(self, source: str, *, unit: str, skip_bad: bool) -> None:
        """Raise one error for all of them, unless they are to be skipped."""
        if not self or skip_bad:
            return
        if self.count == 1:
            place, what = self._first[0]
            hint = "; mend it, or leave it out with --skip-bad (skip_bad=True)"
            if unit == "line":
                raise SourceError(what + hint, source=source, line=place)
            raise SourceError(f"{unit} {place}: {what}{hint}", source=source)
        raise SourceError(
            f"{self.count:,} bad {unit}s; mend them, or leave them out with --skip-bad "
            "(skip_bad=True):\n" + "\n".join(f"  - {text}" for text in self.told(unit)),
            source=source,
        )

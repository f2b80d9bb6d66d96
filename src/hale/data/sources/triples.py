"""A file or a table of triples, apart from any graph -> rows; its bad lines are told together."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from hale.data.sources.columns import ROLES, parse_columns
from hale.data.sources.compression import format_suffix, read_bytes
from hale.data.sources.frames import is_table, rows_of_table
from hale.data.sources.graph_files import Reader
from hale.data.sources.text import SEPARATORS, decoded
from hale.errors import InputError, SourceError

# Faults that an error spells out; the others are counted.
SHOWN = 20


@dataclass(frozen=True)
class Triples:
    """Distinct rows of names (head, relation, tail), and what came with them."""

    source: str
    rows: pl.DataFrame
    labels: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_triples(
    source: object,
    *,
    what: str = "the table",
    columns: str | None = None,
    header: bool | None = None,
    skip_bad: bool = False,
) -> Triples:
    """Read triples from a file (any that a graph is read from) or a table.

    All bad lines of a text file are told in one error; with ``skip_bad`` they are left out and
    noted. ``what`` is what an error calls a table.
    """
    order = parse_columns(columns)
    if not isinstance(source, str | Path):
        if not is_table(source):
            raise InputError(
                "Triples are read from a path, a polars or pandas frame or an (n, 3) array, "
                f"got {type(source).__name__}."
            )
        return Triples(what, rows_of_table(source, what, columns=order).unique(maintain_order=True))
    path, reader = Path(source), Reader(order, header)
    data, faults = read_bytes(path), list[str]()
    if format_suffix(path) not in (".parquet", ".nt", ".ttl"):
        data, faults = _good_lines(data, path)
        refuse(str(path), faults, skip_bad=skip_bad)
    rows = reader.parse(data, path).unique(maintain_order=True)
    notes = [*(f"{path}, {fault}: skipped" for fault in faults), *reader.notes]
    return Triples(str(path), rows, reader.labels, tuple(notes))


def refuse(source: str, faults: list[str], *, skip_bad: bool) -> None:
    """Raise one error for all faults, unless they are to be skipped."""
    if not faults or skip_bad:
        return
    lines = [f"  - {fault}" for fault in faults[:SHOWN]]
    if len(faults) > SHOWN:
        lines.append(f"  - and {len(faults) - SHOWN:,} more")
    head = "1 bad line" if len(faults) == 1 else f"{len(faults):,} bad lines"
    raise SourceError(
        f"{head}; mend them, or leave them out with --skip-bad (skip_bad=True):\n"
        + "\n".join(lines),
        source=source,
    )


def _good_lines(data: bytes, path: Path) -> tuple[bytes, list[str]]:
    """The lines of text that hold three names, and what is wrong with the others.

    Comma-separated text with quotes is left to its reader: there a record may span lines.
    """
    text = decoded(data, str(path))
    lines = text.rstrip("\n").split("\n")
    separator = SEPARATORS.get(format_suffix(path)) or ("\t" if "\t" in lines[0] else ",")
    if separator == "," and '"' in text:
        return data, []
    good, faults = [], []
    for number, line in enumerate(lines, start=1):
        fields = [part.strip() for part in line.split(separator)]
        if len(fields) != len(ROLES):
            faults.append(f"line {number}: expected 3 columns, found {len(fields)}: {line[:60]!r}")
        elif not all(fields):
            faults.append(f"line {number}: an empty name: {line[:60]!r}")
        else:
            good.append(line)
    return "\n".join(good).encode(), faults

"""Rows of names from a file, and what they mean in a graph: what claims and queries share."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hale.data.graph import Graph
from hale.data.sources.columns import ROLES, header_roles
from hale.data.sources.compression import format_suffix, read_bytes
from hale.data.sources.text import decoded
from hale.errors import InputError, SourceError

# Looking for names alike takes a while on a large graph: done for the first unknown ones only.
MOST_SUGGESTIONS = 10

KINDS = ("entity", "relation", "entity")  # of a triple's places


@dataclass(frozen=True)
class NamedRows:
    """The rows of a file as (number, fields), without a header.

    ``unit`` is what one is called, ``columns`` what its fields are.
    """

    source: str
    unit: str
    columns: str
    rows: list[tuple[int, list[str]]]

    def refuse(self, faults: Sequence[str], one: str, many: str) -> SourceError:
        """The error that names all rows at fault; ``one`` and ``many`` say what they are."""
        count = len(faults)
        told = f"1 {self.unit} {one}" if count == 1 else f"{count:,} {self.unit}s {many}"
        listed = "".join(f"\n  {fault}" for fault in faults)
        mend = "\nMend them, or leave them out with --skip-bad (skip_bad=True)."
        return SourceError(f"{told}:{listed}{mend}", source=self.source)


def read_rows(path: str | Path) -> NamedRows:
    """Fields, stripped, of tab-separated text, of .csv or of .parquet, also packed.

    A first line that begins with the usual words (head, relation, tail and the like) is a header,
    and so are such names of columns; their order counts.
    """
    source = str(path)
    data = read_bytes(Path(path))
    suffix = format_suffix(Path(path))
    if suffix == ".parquet":
        frame = _parquet(data, source)
        rows = _stripped(enumerate(frame.fill_null("").rows(), start=1))
        rows = _in_order(rows, header_roles(frame.columns[:3]))
        return NamedRows(source, "row", "columns", rows)
    text = decoded(data, source).rstrip("\n")
    if suffix == ".csv":
        by, rows = "commas", _stripped(_separated(text, source))
    else:
        lines = enumerate(text.split("\n"), start=1)
        by, rows = "tabs", _stripped((number, line.split("\t")) for number, line in lines)
    roles = header_roles(rows[0][1][:3])
    if roles is not None:
        rows = _in_order(rows[1:], roles)
    return NamedRows(source, "line", f"columns separated by {by}", rows)


def _stripped(rows: Iterable[tuple[int, Sequence[str]]]) -> list[tuple[int, list[str]]]:
    return [(number, [field.strip() for field in fields]) for number, fields in rows]


def _in_order(
    rows: list[tuple[int, list[str]]], roles: Sequence[str] | None
) -> list[tuple[int, list[str]]]:
    """Head, relation and tail first, where a header has them in another order."""
    if roles is None or tuple(roles) == ROLES:
        return rows
    order = [roles.index(role) for role in ROLES]
    return [
        (number, [*(fields[i] for i in order), *fields[3:]] if len(fields) >= 3 else fields)
        for number, fields in rows
    ]


def _parquet(data: bytes, source: str) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).strip().split("\n", 1)[0]
        raise SourceError(f"is not a readable Parquet file ({first})", source=source) from None
    try:
        return frame.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise SourceError(f"holds columns that are not names ({error})", source=source) from None


def _separated(text: str, source: str) -> list[tuple[int, list[str]]]:
    """Records with the numbers of their first lines."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records: list[tuple[int, list[str]]] = []
    start = 1
    try:
        for record in reader:
            records.append((start, record))
            start = reader.line_num + 1
    except csv.Error as error:
        raise SourceError(
            f"cannot be read as comma-separated text: {error}", source=source, line=start
        ) from None
    return records


class Lookup:
    """Names -> ids, or what is wrong with a name; the nearest ones for the first unknown only."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.told: dict[tuple[str, str], str] = {}
        self.suggested = 0

    def find(self, kind: str, name: str) -> int | str:
        """The id of an entity, by its name or its label, or of a relation; else the fault."""
        told = self.told.get((kind, name))
        if told is not None:
            return told
        graph = self.graph
        exists = name in graph.relations if kind == "relation" else bool(graph.bearers(name))
        if not exists and self.suggested >= MOST_SUGGESTIONS:
            return f"Unknown {kind} {name!r}."
        try:
            return graph.relations.id(name) if kind == "relation" else graph.entity_id(name)
        except InputError as error:  # no such name, or a label of several entities
            self.suggested += not exists
            self.told[kind, name] = str(error)
            return str(error)

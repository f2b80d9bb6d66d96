"""Claims: triples from a file that are to be judged, with labels if it has them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hale.errors import InputError, SourceError
from hale.graph import Graph, Ids
from hale.sources.columns import header_roles
from hale.sources.compression import format_suffix, read_bytes
from hale.sources.text import decoded

LABELS = {
    **dict.fromkeys(("1", "true", "yes", "+", "+1"), True),
    **dict.fromkeys(("0", "false", "no", "-", "-1"), False),
}

# Looking for names alike takes a while on a large graph: done for the first unknown ones only.
MOST_SUGGESTIONS = 10


@dataclass(frozen=True)
class Claims:
    """Triples of ids (n, 3), their labels (n,) if given, and what is wrong with other lines."""

    triples: Ids
    labels: NDArray[np.bool_] | None
    faults: tuple[str, ...]


def read_claims(path: str | Path, graph: Graph, *, skip_bad: bool = False) -> Claims:
    """Triples of names from a file: head, relation, tail and perhaps a label.

    Tab-separated text, comma-separated (.csv) or Parquet (.parquet), also packed.
    A label is 1, true, yes or + against 0, false, no or -. A first line of the
    usual words is a header. Lines that cannot be judged (an unknown name, a field
    too many) are all named in one error, or with ``skip_bad`` left out and told
    in ``faults``.
    """
    source = str(path)
    unit, rows = _rows(Path(path))
    reader = _Reader(graph)
    triples: list[list[int]] = []
    labels: list[bool] = []
    faults: list[str] = []
    for number, fields in rows:
        ids, label, wrong = reader.read(fields)
        if wrong:
            faults.append(f"{unit} {number}: {' '.join(wrong)}")
        else:
            triples.append(ids)
            labels += [] if label is None else [label]
    if faults and not skip_bad:
        count = f"1 {unit}" if len(faults) == 1 else f"{len(faults):,} {unit}s"
        raise SourceError(
            f"{count} cannot be judged:"
            + "".join(f"\n  {fault}" for fault in faults)
            + "\nMend them, or leave them out with --skip-bad (skip_bad=True).",
            source=source,
        )
    if not triples:
        raise SourceError("holds no triple that can be judged", source=source)
    return Claims(
        np.array(triples, dtype=np.int64),
        np.array(labels) if reader.width == 4 else None,
        tuple(faults),
    )


def triples_of(rows: Iterable[Sequence[str]] | Ids, graph: Graph) -> Ids:
    """Triples of names, or of ids already, as ids (n, 3); all unknown names in one error."""
    if isinstance(rows, np.ndarray) and np.issubdtype(rows.dtype, np.integer):
        limits = (len(graph.entities), len(graph.relations), len(graph.entities))
        if rows.ndim != 2 or rows.shape[1] != 3 or (rows < 0).any() or (rows >= limits).any():
            raise InputError(
                f"Triples of ids have shape (n, 3) and stay below {limits[0]:,} entities and "
                f"{limits[1]:,} relations, got shape {rows.shape}."
            )
        return rows.astype(np.int64)
    reader = _Reader(graph, width=3)
    read = [reader.read([str(field) for field in row]) for row in rows]
    faults = [f"triple {i}: {' '.join(wrong)}" for i, (_, _, wrong) in enumerate(read) if wrong]
    if faults:
        raise InputError("\n  ".join(["These triples cannot be judged:", *faults]))
    return np.array([ids for ids, _, _ in read], dtype=np.int64).reshape(-1, 3)


def _rows(path: Path) -> tuple[str, list[tuple[int, list[str]]]]:
    """What a row is called, and the rows as (number, fields), without a header."""
    data = read_bytes(path)
    suffix = format_suffix(path)
    if suffix == ".parquet":
        try:
            frame = pl.read_parquet(io.BytesIO(data)).cast(pl.String)
        except (pl.exceptions.PolarsError, OSError) as error:
            first = str(error).strip().split("\n", 1)[0]
            raise SourceError(
                f"is not a readable Parquet file ({first})", source=str(path)
            ) from None
        fields = [["" if value is None else value for value in row] for row in frame.rows()]
        return "row", list(enumerate(fields, start=1))
    text = decoded(data, str(path)).rstrip("\n")
    if suffix == ".csv":
        try:
            reader = csv.reader(io.StringIO(text, newline=""), strict=True)
            rows = [(reader.line_num, record) for record in reader]
        except csv.Error as error:
            raise SourceError(
                f"cannot be read as comma-separated text: {error}",
                source=str(path),
                line=reader.line_num,
            ) from None
    else:
        rows = [(i, line.split("\t")) for i, line in enumerate(text.split("\n"), start=1)]
    is_header = rows and header_roles(rows[0][1][:3]) == ("head", "relation", "tail")
    return "line", rows[1:] if is_header else rows


class _Reader:
    """Fields of a line -> ids and a label, or faults.

    The first line with three or four fields says how many all of them have.
    """

    def __init__(self, graph: Graph, *, width: int | None = None) -> None:
        self.graph = graph
        self.width = width
        self.labels = frozenset(graph.labels.values())
        self.told: dict[tuple[str, str], str] = {}

    def read(self, fields: Sequence[str]) -> tuple[list[int], bool | None, list[str]]:
        if self.width is None and len(fields) in (3, 4):
            self.width = len(fields)
        if len(fields) != self.width:
            due = self.width or "3 or 4"
            return [], None, [f"Expected {due} columns, found {len(fields)}."]
        names = [field.strip() for field in fields]
        ids: list[int] = []
        faults = []
        for kind, name in zip(("entity", "relation", "entity"), names[:3], strict=True):
            known = self._id(kind, name)
            if isinstance(known, int):
                ids.append(known)
            else:
                faults.append(known)
        label = LABELS.get(names[3].lower()) if self.width == 4 else None
        if self.width == 4 and label is None:
            faults.append(f"A label is 1 or 0, true or false, got {names[3]!r}.")
        return ids, label, faults

    def _id(self, kind: str, name: str) -> int | str:
        """The id, or what is wrong with the name."""
        vocabulary = self.graph.relations if kind == "relation" else self.graph.entities
        if name in vocabulary:
            return vocabulary.id(name)
        if (kind, name) not in self.told:
            is_label = kind == "entity" and name in self.labels
            if len(self.told) >= MOST_SUGGESTIONS and not is_label:
                return f"Unknown {kind} {name!r}."
            try:
                return vocabulary.id(name) if kind == "relation" else self.graph.entity_id(name)
            except InputError as error:
                self.told[kind, name] = str(error)
        return self.told[kind, name]

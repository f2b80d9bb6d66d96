"""Claims: triples from a file that are to be judged, with labels if it has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph, Ids
from hale.data.sources.lookup import KINDS, Lookup, read_rows
from hale.errors import InputError, SourceError

LABELS = {
    **dict.fromkeys(("1", "true", "yes", "+", "+1"), True),
    **dict.fromkeys(("0", "false", "no", "-", "-1"), False),
}


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
    file = read_rows(path)
    reader = _Reader(graph, columns=file.columns)
    triples: list[list[int]] = []
    labels: list[bool] = []
    faults: list[str] = []
    for number, fields in file.rows:
        ids, label, wrong = reader.read(fields)
        if wrong:
            faults.append(f"{file.unit} {number}: {' '.join(wrong)}")
        else:
            triples.append(ids)
            labels += [] if label is None else [label]
    if faults and not skip_bad:
        raise file.refuse(faults, "cannot be judged", "cannot be judged")
    if not triples:
        raise SourceError("holds no triple that can be judged", source=file.source)
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
    read = [reader.read([str(field).strip() for field in row]) for row in rows]
    faults = [f"triple {i}: {' '.join(wrong)}" for i, (_, _, wrong) in enumerate(read) if wrong]
    if faults:
        raise InputError("\n  ".join(["These triples cannot be judged:", *faults]))
    return np.array([ids for ids, _, _ in read], dtype=np.int64).reshape(-1, 3)


class _Reader:
    """Fields of a line -> ids and a label, or faults.

    The first line with three or four fields says how many all of them have.
    """

    def __init__(self, graph: Graph, *, width: int | None = None, columns: str = "columns") -> None:
        self.lookup = Lookup(graph)
        self.width = width
        self.columns = columns

    def read(self, fields: Sequence[str]) -> tuple[list[int], bool | None, list[str]]:
        if self.width is None and len(fields) in (3, 4):
            self.width = len(fields)
        if len(fields) != self.width:
            due = self.width or "3 or 4"
            return [], None, [f"Expected {due} {self.columns}, found {len(fields)}."]
        found = [self.lookup.find(*of) for of in zip(KINDS, fields[:3], strict=True)]
        ids = [one for one in found if isinstance(one, int)]
        faults = [one for one in found if isinstance(one, str)]
        label = LABELS.get(fields[3].lower()) if self.width == 4 else None
        if self.width == 4 and label is None:
            faults.append(f"A label is 1 or 0, true or false, got {fields[3]!r}.")
        return ids, label, faults

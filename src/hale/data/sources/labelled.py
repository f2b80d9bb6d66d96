"""Triples of a graph from a file or table, with labels (true or false) if it has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph
from hale.data.keys import Ids
from hale.data.sources.faults import Fault, Faults
from hale.data.sources.layout import LABELLED
from hale.data.sources.lookup import Lookup
from hale.data.sources.reader import read_records
from hale.errors import InputError, SourceError

LABELS = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "+", "+1"), True),
    **dict.fromkeys(("0", "0.0", "false", "no", "-", "-1"), False),
}


@dataclass(frozen=True)
class LabelledTriples:
    """Triples of ids (n, 3), their labels (n,) if given, and what is wrong with other lines."""

    triples: Ids
    labels: NDArray[np.bool_] | None
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_labelled(
    source: object, graph: Graph, *, what: str = "the table", skip_bad: bool = False
) -> LabelledTriples:
    """Triples of names: head, relation, tail and perhaps a label; see ``read_records``.

    A label is 1, true, yes or + against 0, false, no or -. Lines that cannot be judged (an unknown
    name, a field too many) are told in one error, or with ``skip_bad`` left out and told in
    ``faults``.
    """
    found = read_records(source, LABELLED, what=what)
    rows = found.rows
    ids, unknown = Lookup(graph).triples(rows)
    wrong = list(unknown)
    labels = None
    if "label" in rows.columns:
        texts = [text.lower() for text in rows["label"]]
        wrong += [
            Fault(place, f"A label is 1 or 0, true or false, got {text!r}.")
            for place, text in zip(rows["place"], texts, strict=True)
            if text not in LABELS
        ]
        labels = np.array([LABELS.get(text, False) for text in texts], dtype=bool)
    found.refuse(Faults(wrong), skip_bad=skip_bad)
    good = ~np.isin(rows["place"].to_numpy(), [fault.place for fault in wrong])
    if not good.any():
        raise SourceError("holds no triples that can be judged", source=found.source)
    faults = (found.faults + Faults(wrong)).told(found.unit)
    labels = None if labels is None else labels[good]
    return LabelledTriples(ids[good], labels, faults, found.notes)


def triples_of(rows: object, graph: Graph) -> Ids:
    """Triples as ids (n, 3): rows of names, a frame or file of them, or an array of ids already.

    All unknown names are told in one error.
    """
    if isinstance(rows, np.ndarray) and np.issubdtype(rows.dtype, np.integer):
        limits = (len(graph.entities), len(graph.relations), len(graph.entities))
        if rows.ndim != 2 or rows.shape[1] != 3 or (rows < 0).any() or (rows >= limits).any():
            raise InputError(
                f"Triples of ids have shape (n, 3) and stay below {limits[0]:,} entities and "
                f"{limits[1]:,} relations, got shape {rows.shape}."
            )
        return rows.astype(np.int64)
    is_rows = isinstance(rows, Iterable) and not isinstance(rows, str | Path)
    given = list(rows) if is_rows and not hasattr(rows, "columns") else rows  # type: ignore[call-overload]
    if isinstance(given, list) and not given:
        return np.empty((0, 3), dtype=np.int64)
    return read_labelled(given, graph, what="the triples").triples

"""Finder: the entities that a typed text may mean."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl

from hale.data.graph import Graph, Ids
from hale.data.names import column_of
from hale.errors import InputError


class Finder:
    """Search in the names and labels of a graph's entities, without regard to capitals.

    First what is the text itself, then what begins with it, then what holds it; names before
    labels, short before long, then by id.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def find(self, text: str, k: int) -> list[int]:
        """The ids of the k entities that the text is likeliest to mean."""
        wanted = text.strip().lower()
        if not wanted:
            raise InputError("Nothing to search for: give a part of a name or label.")
        names, (bearers, labels) = self._names, self._labels
        ids = np.concatenate([np.arange(len(names)), bearers])
        found, keys = [], []
        for first, column in ((0, names), (len(names), labels)):
            places = column.str.contains(wanted, literal=True).arg_true()
            texts = column.gather(places)
            begins = texts.str.starts_with(wanted).to_numpy()
            lengths = texts.str.len_chars().to_numpy()
            same = lengths == len(wanted)
            kind = np.where(begins & same, 0, np.where(begins, 2, 4)) + (first > 0)
            found.append(ids[first + places.to_numpy().astype(np.int64)])
            keys.append(np.stack([kind, lengths.astype(np.int64)]))
        entities, (kind, lengths) = np.concatenate(found), np.concatenate(keys, axis=1)
        order = np.lexsort((entities, lengths, kind))
        best: dict[int, None] = {}
        for number in entities[order].tolist():
            best[number] = None
            if len(best) == k:
                break
        return list(best)

    @cached_property
    def _names(self) -> pl.Series:
        return self.graph.entities.column.str.to_lowercase()

    @cached_property
    def _labels(self) -> tuple[Ids, pl.Series]:
        """Labels, folded, and whose each is."""
        labels = self.graph.labels
        ids = self.graph.entities.ids(labels)
        held = np.flatnonzero(ids >= 0)
        return ids[held], column_of(labels.values()).str.to_lowercase().gather(held)

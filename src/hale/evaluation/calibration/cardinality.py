"""Cardinality: how many answers the queries of a relation have, and what those known tell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph
from hale.data.keys import Ids, pairs_of

Floats = NDArray[np.float64]

# Counts of known answers are told apart as 0, 1, 2, up to 4, up to 8, and so on.
KINDS = 16


class Cardinality:
    """What train says of the number of answers to a query (given, r), r + R asking for heads.

    Hide one fact of train, drawn evenly: its query has k answers left. Draw one query of train and
    hide nothing: it has k answers. How much more often the first has k than the second tells
    whether a query with k known answers lacks one:

        odds_r(k) = ln P(k | one is hidden) - ln P(k | nothing is)

    A relation with one answer to each query has odds far below zero at k = 1. Entities without any
    known answer are no query of train, so k = 0 has none: 0.
    """

    def __init__(self, graph: Graph) -> None:
        index = graph.known("train").index
        assert index is not None  # one split has one index
        width = 2 * len(graph.relations)
        _, relations = pairs_of(index.keys, width)
        counts = np.diff(index.offsets).astype(np.int64)
        queries = np.bincount(relations, minlength=width)
        self.mean: Floats = np.bincount(relations, counts, width) / np.maximum(1, queries)  # (2R,)
        self.functional: NDArray[np.bool_] = graph.profiles.functional  # (2R,)
        hidden = _by_kind(relations, counts - 1, width, counts)
        complete = _by_kind(relations, counts, width, np.ones(len(counts)))
        self._odds = np.log(hidden) - np.log(complete)  # (2R, KINDS)
        self._odds[:, 0] = 0.0

    def odds(self, relations: Ids, known: Ids) -> Floats:
        """Ln of how much more often a query with so many known answers lacks one: (n,), (n,)."""
        found: Floats = self._odds[relations, kind_of(known)]
        return found


def kind_of(counts: Ids) -> Ids:
    """0, 1, 2, then 3 for counts up to 4, 4 for those up to 8, ...: (n,) -> (n,)."""
    doublings = np.ceil(np.log2(np.maximum(counts, 2)))
    return np.minimum(np.where(counts < 2, counts, 1 + doublings), KINDS - 1).astype(np.int64)


def _by_kind(relations: Ids, counts: Ids, width: int, weights: NDArray[np.generic]) -> Floats:
    """The share of each kind among the queries of a relation, one more supposed of each kind."""
    places = relations * KINDS + kind_of(counts)
    found = np.bincount(places, weights, width * KINDS).reshape(width, KINDS) + 1.0
    shares: Floats = found / found.sum(axis=1, keepdims=True)
    return shares

"""Keys: triples and queries as whole numbers, so that sets of them are sorted arrays.

One place makes them, and none overflows: a product that would pass 2^63 is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hale.errors import InputError

Ids = NDArray[np.int64]
Codes = NDArray[np.int8]

LIMIT = 2**63


def pair_keys(first: Ids, second: Ids, sizes: tuple[int, int]) -> Ids:
    """A number of its own for each pair, in their order: (n,), (n,) -> (n,).

    first * sizes[1] + second, with first below sizes[0] and second below sizes[1].
    """
    if math.prod(sizes) >= LIMIT:
        raise InputError(
            f"Pairs of {sizes[0]:,} and {sizes[1]:,} have more keys than 64 bits can tell apart; "
            "take a smaller graph."
        )
    keys: Ids = first.astype(np.int64) * sizes[1] + second
    return keys


def pairs_of(keys: Ids, width: int) -> tuple[Ids, Ids]:
    """The pairs behind keys: (n,) -> (n,), (n,)."""
    first, second = np.divmod(keys, max(1, width))
    return first, second


def places_in(keys: Ids, wanted: Ids) -> Ids:
    """Where each wanted key stands in a sorted array, -1 where it does not: (n,) -> (n,)."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found: Ids = np.where(keys[place] == wanted, place, -1)
    return found


class TripleSet:
    """Some triples (n, 3), to be asked which others are among them.

    A query (head, relation) has a key, and its place among the queries that occur makes, with the
    tail, the key of the triple. So numbers stay below n * N, where head * R * N would pass 2^63 at
    ten million entities and a hundred thousand relations.
    """

    def __init__(self, triples: Ids) -> None:
        heads, relations, tails = (1 + int(part.max(initial=0)) for part in triples.T)
        self._sizes = np.array([heads, relations, tails])
        self._queries = np.unique(self._query_keys(triples))
        keys = self._keys(triples)
        self._sorted, self._first = np.unique(keys, return_index=True)  # the first of equal ones

    def _query_keys(self, triples: Ids) -> Ids:
        heads, relations, _ = self._sizes.tolist()
        return pair_keys(triples[:, 0], triples[:, 1], (heads, relations))

    def _keys(self, triples: Ids) -> Ids:
        """Keys of triples, negative for those whose query does not occur."""
        place = places_in(self._queries, self._query_keys(triples))
        size = int(self._sizes[2])
        keys = pair_keys(place, triples[:, 2], (len(self._queries) + 1, size))
        return np.where(place < 0, -1, keys)

    def first(self, triples: Ids) -> Ids:
        """Where each triple first stood in what was indexed, -1 for none: (n, 3) -> (n,)."""
        inside = np.logical_and.reduce((triples >= 0) & (triples < self._sizes), axis=1)
        place = places_in(self._sorted, self._keys(np.where(inside[:, None], triples, 0)))
        known = inside & (place >= 0)
        return np.where(known, self._first[place] if len(self._first) else -1, -1)

    def holds(self, triples: Ids) -> NDArray[np.bool_]:
        """Which of the triples are among them: (n, 3) -> (n,)."""
        return self.first(triples) >= 0


class SplitIndex:
    """Which split holds a triple; one that several hold counts as the first one's."""

    def __init__(self, splits: Sequence[Ids]) -> None:
        """Index ``splits``, each (n, 3); their order gives the codes 0, 1, 2, ..."""
        self._set = TripleSet(np.concatenate(splits))
        self._ends = np.cumsum([len(part) for part in splits])

    def codes(self, triples: Ids) -> Codes:
        """The place in ``splits`` that holds each triple, -1 for none: (n, 3) -> (n,)."""
        first = self._set.first(triples)
        codes: Codes = np.searchsorted(self._ends, first, side="right").astype(np.int8)
        return np.where(first < 0, np.int8(-1), codes)

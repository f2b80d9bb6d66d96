"""Known answers: which entities answer a query in a set of triples."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hale.data.keys import Ids, pair_keys, pairs_of, places_in


class KnownAnswers:
    """The answers of every query in a set of triples, as sorted arrays (CSR).

    A query (head, relation) has the key ``head * 2R + relation``, where the
    reciprocal of relation r is r + R, so one table serves both directions.
    """

    def __init__(self, triples: Ids, num_relations: int) -> None:
        """Index ``triples`` (n, 3), which hold both directions."""
        self._width = 2 * num_relations
        keys = self._key(triples[:, 0], triples[:, 1])
        order = np.lexsort((triples[:, 2], keys))
        keys, answers = keys[order], triples[order, 2]
        fresh = np.ones(len(keys), dtype=bool)
        fresh[1:] = (keys[1:] != keys[:-1]) | (answers[1:] != answers[:-1])
        keys, self._answers = keys[fresh], answers[fresh].astype(np.int64)
        self._keys, starts = np.unique(keys, return_index=True)
        self._offsets = np.append(starts, len(keys)).astype(np.int64)

    def _key(self, heads: Ids, relations: Ids) -> Ids:
        """The keys of queries: (B,), (B,) -> (B,)."""
        return pair_keys(heads, relations, (1 + int(heads.max(initial=-1)), self._width))

    @cached_property
    def two_way(self) -> NDArray[np.bool_]:
        """Which relations (2R,) mostly run both ways.

        Those of whose facts (h, r, t) at least half have (t, r, h) beside them, such as a
        marriage or a likeness; a relation without facts does not.
        """
        query = np.repeat(np.arange(len(self._keys)), np.diff(self._offsets))  # of each fact
        heads, relations = pairs_of(self._keys[query], self._width)
        ends = max(heads.max(initial=0), self._answers.max(initial=0))
        sizes = (1 + len(self._keys), 1 + int(ends))
        facts = pair_keys(query, self._answers, sizes)  # ascending, as they lie
        back = places_in(self._keys, self._key(self._answers, relations))  # the query (t, r)
        turned = (back >= 0) & (places_in(facts, pair_keys(back, heads, sizes)) >= 0)
        met = np.bincount(relations, turned, minlength=self._width)
        count = np.bincount(relations, minlength=self._width)
        return (count > 0) & (2 * met >= count)

    @cached_property
    def loops(self) -> NDArray[np.bool_]:
        """Which relations (2R,) may join an entity to itself.

        Those of whose facts (h, r, t) at least one in a hundred does (h = t), and those without
        facts, of which nothing is known.
        """
        keys = np.repeat(self._keys, np.diff(self._offsets))
        heads, relations = pairs_of(keys, self._width)
        met = np.bincount(relations, heads == self._answers, minlength=self._width)
        count = np.bincount(relations, minlength=self._width)
        return 100 * met >= count

    def __len__(self) -> int:
        """Facts, both directions counted."""
        return len(self._answers)

    def counts(self, heads: Ids, relations: Ids) -> Ids:
        """How many answers each query has: (B,), (B,) -> (B,)."""
        return self._spans(heads, relations)[1]

    def _spans(self, heads: Ids, relations: Ids) -> tuple[Ids, Ids]:
        """Where each query's answers start, and how many there are."""
        place = places_in(self._keys, self._key(heads, relations))
        found = place >= 0
        starts = np.where(found, self._offsets[place], 0)
        counts = np.where(found, self._offsets[place + 1] - starts, 0)
        return starts, counts

    def of(self, heads: Ids, relations: Ids) -> tuple[Ids, Ids]:
        """Known answers of queries (B,), (B,) as pairs (row, entity), by row.

        Row i of the pairs speaks of query i; a query without answers has none.
        """
        starts, counts = self._spans(heads, relations)
        rows = np.repeat(np.arange(len(heads), dtype=np.int64), counts)
        # whole slices: a place for every pair would cost ten times as much where answers are many
        spans = zip(starts.tolist(), (starts + counts).tolist(), strict=True)
        slices = [self._answers[start:end] for start, end in spans]
        return rows, np.concatenate(slices) if slices else rows

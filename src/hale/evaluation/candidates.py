"""Candidates: which entities may answer a query.

Whoever looks for answers takes its candidates from here: predictions, discoveries, probabilities.
The ordinary ranks of an evaluation do not; they count all entities.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph
from hale.data.keys import Ids, pairs_of, places_in

# A side of a relation is open where fewer facts than these are known of it,
FEW = 10
# or where less than this share of new answers is expected to be entities seen there. On five graphs
# (docs/answers.md) open sides held most of the answers that a limit to those seen would leave out.
CLOSED = 0.5
# The kind of a side's entities are the sides on which at least this share of them stands.
KIND = 0.1
# Sides whose kind is kept once found.
KEPT = 32


class Candidates:
    """Which entities may answer a query (given, r), where r + R asks for the heads of a tail.

    - An entity is no answer to its own query where the relation has no loops: where less than one
      in a hundred of its facts in train has one (``KnownAnswers.loops``).
    - An answer was seen in train on that side of the relation; on an open side it is of the kind
      of those seen there (``open``, ``kind``). Unless ``anything`` may answer.
    - It is ``among`` some entities (n,), if they are given.

    All is learned from train, so that held-out facts may judge it. Held are the entities of each
    side of each relation (CSR, ascending), as many as train has queries, and nothing of N by R.
    """

    def __init__(self, graph: Graph, *, anything: bool = False, among: Ids | None = None) -> None:
        self.num_entities, self.num_relations = graph.size
        self.anything = anything
        self.among = None if among is None else np.unique(among)
        known = graph.known("train")
        assert known.index is not None  # one split has one index
        self._keys, self._width = known.index.keys, 2 * self.num_relations
        # (h, r) is a query of train: h stands on the given side of r, the answers' side of r + R.
        heads, relations = pairs_of(self._keys, self._width)
        order = np.argsort(relations, kind="stable")  # heads stay ascending
        self._entities = heads[order].astype(known.index.answers.dtype)
        sizes = np.bincount(relations, minlength=self._width)
        self._bounds = np.concatenate([[0], np.cumsum(sizes)])
        facts = np.diff(known.index.offsets)
        self._facts = np.bincount(relations, facts, minlength=self._width)
        self._once = np.bincount(relations, facts == 1, minlength=self._width)
        self._kinds: dict[int, Ids] = {}
        self.loops: NDArray[np.bool_] = known.loops  # (2R,)

    def _turned(self, relation: int) -> int:
        """The relation that asks from the other side."""
        return (relation + self.num_relations) % self._width

    def given(self, relation: int) -> Ids:
        """The entities that train has on the given side of a relation, ascending."""
        start, end = self._bounds[relation : relation + 2]
        return self._entities[start:end].astype(np.int64)

    def seen(self, relation: int) -> Ids:
        """The entities that train has on the side of a relation's answers, ascending."""
        return self.given(self._turned(relation))

    def coverage(self, relation: int) -> float:
        """The share of new answers to a relation that is expected to be entities seen there.

        1 - (answers that occur once) / (facts), after Good and Turing; 0 without facts.
        """
        side = self._turned(relation)
        return float(1 - self._once[side] / self._facts[side]) if self._facts[side] else 0.0

    def open(self, relation: int) -> bool:
        """Whether new answers are mostly new to that side, or too few facts tell.

        Every package has its one section, so those that one is asked for have none in train: a
        limit to the packages seen with a section would leave all right answers out.
        """
        return bool(self._facts[relation] < FEW) or self.coverage(relation) < CLOSED

    def kind(self, relation: int) -> Ids:
        """The entities of the kind of those seen among a relation's answers, ascending.

        They stand on some side of a relation on which at least a tenth of those seen stands too;
        where none was seen, on any.
        """
        if relation not in self._kinds:
            marks = np.zeros(self.num_entities, dtype=bool)
            for side in self._shared_sides(self.seen(relation)):
                marks[self.given(side)] = True
            if len(self._kinds) == KEPT:
                del self._kinds[next(iter(self._kinds))]
            self._kinds[relation] = np.flatnonzero(marks).astype(self._entities.dtype)
        return self._kinds[relation].astype(np.int64)

    def _shared_sides(self, entities: Ids) -> list[int]:
        """The relations on whose given side at least KIND of some entities (n,) stand."""
        starts = np.searchsorted(self._keys, entities * self._width)
        counts = np.searchsorted(self._keys, (entities + 1) * self._width) - starts
        before = np.cumsum(counts) - counts
        places = np.repeat(starts - before, counts) + np.arange(counts.sum())
        standing = np.bincount(self._keys[places] % self._width, minlength=self._width)
        return np.flatnonzero(standing >= KIND * len(entities)).tolist()

    def of(self, relation: int) -> Ids | None:
        """The entities that may answer queries of a relation, ascending; None where all may.

        The given entity of a query is still to be left out where ``loops`` says so.
        """
        if self.anything or not self._facts[relation]:
            return self.among
        likely = self.kind(relation) if self.open(relation) else self.seen(relation)
        return likely if self.among is None else _common(likely, self.among)


def _common(one: Ids, other: Ids) -> Ids:
    """The ids of both, each ascending: (n,), (m,) -> ascending."""
    few, many = sorted((one, other), key=len)
    return few[places_in(many, few) >= 0]

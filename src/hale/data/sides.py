"""Sides: which entities stand on either side of each relation in train."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hale.data.keys import Ids, pairs_of, places_in
from hale.data.known_answers import KnownAnswers

Marks = NDArray[np.bool_]

# The kind of a side's entities are the sides on which at least this share of them stands.
KIND = 0.1
# So many of them tell it, where there are more.
TELLING = 1 << 16
# Kinds that are kept once found.
KEPT = 32


class Sides:
    """The entities on each side of R relations, as sorted arrays (CSR), as many as queries.

    Relation r in [0, 2R) has heads of r on its given side and tails as answers; r + R, its
    reciprocal, has them the other way round.
    """

    def __init__(self, train: KnownAnswers, num_entities: int, num_relations: int) -> None:
        """From the known answers of one split, in both directions."""
        assert train.index is not None  # one split has one index
        self._num_entities, self._half, self._width = num_entities, num_relations, 2 * num_relations
        self._keys = train.index.keys
        # (h, r) is a query of train: h stands on the given side of r, the answers' side of r + R.
        heads, relations = pairs_of(self._keys, self._width)
        order = np.argsort(relations, kind="stable")  # heads stay ascending
        self._entities = heads[order].astype(train.index.answers.dtype)
        sizes = np.bincount(relations, minlength=self._width)
        self._bounds = np.concatenate([[0], np.cumsum(sizes)])
        answers = np.diff(train.index.offsets)
        self.num_facts = np.bincount(relations, answers, minlength=self._width).astype(np.int64)
        self._once = np.bincount(relations, answers == 1, minlength=self._width)
        self._kinds: dict[int, Ids] = {}
        self._sides: dict[int, list[int]] = {}

    def given(self, relation: int) -> Ids:
        """The entities on the given side of a relation, ascending."""
        start, end = self._bounds[relation : relation + 2]
        return self._entities[start:end].astype(np.int64)

    def answers(self, relation: int) -> Ids:
        """The entities on the side of a relation's answers, ascending."""
        return self.given(self._turned(relation))

    def _turned(self, relation: int) -> int:
        """The relation that asks from the other side."""
        return (relation + self._half) % self._width

    def coverage(self, relation: int) -> float:
        """The share of new answers to a relation that is expected to be entities seen there.

        1 - (answers that occur once) / (facts), after Good and Turing; 0 without facts.
        """
        side = self._turned(relation)
        return float(1 - self._once[side] / self.num_facts[side]) if self.num_facts[side] else 0.0

    def kind(self, relation: int) -> Ids | None:
        """The entities of the kind of those seen among a relation's answers, ascending.

        They stand on some side of a relation on which at least a tenth of those seen stands too.
        None where these share no other side, so that nothing tells what they are.
        """
        if len(self._shared(relation)) < 2:
            return None
        if relation not in self._kinds:
            marks = np.zeros(self._num_entities, dtype=bool)
            for side in self._shared(relation):
                marks[self.given(side)] = True
            if len(self._kinds) == KEPT:
                del self._kinds[next(iter(self._kinds))]
            self._kinds[relation] = np.flatnonzero(marks).astype(self._entities.dtype)
        return self._kinds[relation].astype(np.int64)

    def answer(self, relation: int, entities: Ids) -> Marks:
        """Which of some entities were seen among a relation's answers: (n,) -> (n,)."""
        return self._stand(self._turned(relation), entities)

    def of_kind(self, relation: int, entities: Ids) -> Marks:
        """Which of some entities are of the kind of those seen there: (n,) -> (n,).

        All, where nothing tells it.
        """
        sides = self._shared(relation)
        found = np.full(len(entities), len(sides) < 2)
        for side in sides:
            found |= self._stand(side, entities)
        return found

    def _stand(self, relation: int, entities: Ids) -> Marks:
        """Which of some entities are on the given side of a relation: (n,) -> (n,)."""
        return places_in(self._keys, entities * self._width + relation) >= 0

    def _shared(self, relation: int) -> list[int]:
        """The relations whose given side has at least KIND of a relation's answers, kept.

        The side of the answers is one of them, if there are any.
        """
        if relation not in self._sides:
            entities = self.answers(relation)
            entities = entities[:: -(-len(entities) // TELLING) or 1]
            starts = np.searchsorted(self._keys, entities * self._width)
            counts = np.searchsorted(self._keys, (entities + 1) * self._width) - starts
            before = np.cumsum(counts) - counts
            places = np.repeat(starts - before, counts) + np.arange(counts.sum())
            standing = np.bincount(self._keys[places] % self._width, minlength=self._width)
            sides = np.flatnonzero((standing > 0) & (standing >= KIND * len(entities)))
            self._sides[relation] = sides.tolist()
        return self._sides[relation]

"""Relation profiles: what the facts of train say of each relation, beside any vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hale.data.keys import pairs_of
from hale.data.known_answers import KnownAnswers

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# A relation is functional if this share of its queries has one answer. One query more with one
# answer and one with several are supposed, so that under 48 queries none is.
ONE_ANSWER = 0.98


class RelationProfile(NamedTuple):
    """What is told of one relation."""

    facts: int
    heads: int  # that have a fact: the domain
    tails: int  # the range
    functional: bool  # a head has one tail
    inverse_functional: bool  # a tail has one head
    symmetric: bool  # most facts hold the other way round too
    loops: bool  # an entity may be joined to itself
    tail_delta: float  # nats by which an entity that is a tail already stands back as another
    head_delta: float


class RelationProfiles:
    """The facts of train by directed relation: r in [0, R), and r + R, its reciprocal.

    A tail t of r is taken, as seen by a query (h, r), if it answers r for another head. Let p be
    the share of the facts of r whose tail is taken, each fact left out while it is looked at, and
    o the share of all entities that answer r at all. Where p < o an entity that answers r already
    is a less likely answer than one that does not, by

        delta_r = ln[(1 - p) / (1 - o)] - ln[p / o]     nats

    the log odds that its being free gives an answer. Asked who was born in a town, nobody who has a
    birthplace already is likely: p = 0; asked for a birthplace, towns are taken, and p > o. One
    taken and one free case more are supposed in both shares, so that a relation with few facts
    (fewer than about sqrt(N)) says nothing. A negative delta counts as 0: that answers were answers
    before, a kind of type, the vectors know.
    """

    def __init__(self, train: KnownAnswers, num_entities: int, num_relations: int) -> None:
        """From the known answers of one split, in both directions."""
        assert train.index is not None  # one split has one index
        self._half, width = num_relations, 2 * num_relations
        _, asked = pairs_of(train.index.keys, width)
        turned = (asked + num_relations) % width  # (t, r + R) holds the heads of t: it answers r
        heads = np.diff(train.index.offsets)
        self.num_facts: Counts = np.bincount(turned, heads, width).astype(np.int64)
        self.num_answers: Counts = np.bincount(turned, minlength=width)
        taken = np.bincount(turned, np.where(heads > 1, heads, 0), width)
        self.taken: Floats = (taken + 1) / (self.num_facts + 2)  # p, (2R,)
        self.seen: Floats = (self.num_answers + 1) / (num_entities + 2)  # o, (2R,)
        odds = np.log1p(-self.taken) - np.log1p(-self.seen) - np.log(self.taken / self.seen)
        self.deltas: Floats = np.maximum(0.0, odds)  # (2R,)
        single = np.bincount(asked, heads == 1, width)
        queries = np.bincount(asked, minlength=width)
        self.functional: NDArray[np.bool_] = (single + 1) >= ONE_ANSWER * (queries + 2)  # (2R,)
        self._two_way, self._loops = train.two_way, train.loops

    def of(self, relation: int) -> RelationProfile:
        """The profile of a relation below R."""
        back = relation + self._half
        return RelationProfile(
            facts=int(self.num_facts[relation]),
            heads=int(self.num_answers[back]),
            tails=int(self.num_answers[relation]),
            functional=bool(self.functional[relation]),
            inverse_functional=bool(self.functional[back]),
            symmetric=bool(self._two_way[relation]),
            loops=bool(self._loops[relation]),
            tail_delta=float(self.deltas[relation]),
            head_delta=float(self.deltas[back]),
        )

"""Candidates: which entities may answer a query.

Whoever looks for answers takes its candidates from here: predictions, discoveries, probabilities.
The ordinary ranks of an evaluation do not; they count all entities.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph
from hale.data.keys import Ids, places_in
from hale.data.types import Types

# A side of a relation is open where fewer facts than these are known of it,
FEW = 10
# or where less than this share of new answers is expected to be entities seen there. On five graphs
# (docs/answers.md) open sides held most of the answers that a limit to those seen would leave out.
CLOSED = 0.5


class Candidates:
    """Which entities may answer a query (given, r), where r + R asks for the heads of a tail.

    - An entity is no answer to its own query where the relation has no loops: where less than one
      in a hundred of its facts in train has one (``KnownAnswers.loops``).
    - An answer was seen in train on that side of the relation; on an open side it is of the kind
      of those seen there, where that is told (``open``, ``Sides.kind``). Unless ``anything`` may.
    - It is ``among`` some entities (n,), if they are given.

    All is learned from train, so that held-out facts may judge it.
    """

    def __init__(self, graph: Graph, *, anything: bool = False, among: Ids | None = None) -> None:
        self.sides = graph.sides
        self.loops: NDArray[np.bool_] = graph.known("train").loops  # (2R,)
        self.anything = anything
        self.among = None if among is None else np.unique(among)

    @property
    def limited(self) -> bool:
        """Whether whoever asks has made them others than train does."""
        return type(self) is not Candidates or self.anything or self.among is not None

    def open(self, relation: int) -> bool:
        """Whether new answers are mostly new to that side, or too few facts tell.

        Every package has its one section, so those that one is asked for have none in train: a
        limit to the packages seen with a section would leave all right answers out.
        """
        few = bool(self.sides.num_facts[relation] < FEW)
        return few or self.sides.coverage(relation) < CLOSED

    def of(self, relation: int) -> Ids | None:
        """The entities that may answer queries of a relation, ascending; None where all may.

        The given entity of a query is still to be left out where ``loops`` says so.
        """
        if self.anything:
            return self.among
        open_ = self.open(relation)
        likely = self.sides.kind(relation) if open_ else self.sides.answers(relation)
        if likely is None or self.among is None:
            return self.among if likely is None else likely
        return common(likely, self.among)

    def join(self, heads: Ids, tails: Ids) -> NDArray[np.bool_]:
        """Which relations may lead from one entity to another: (B,), (B,) -> (B, R).

        Both are of the kind of those seen on their side, and one of them was seen there, or few
        facts tell. An entity is joined to itself where the relation loops. With ``anything`` all
        others may.
        """
        sides, half = self.sides, len(self.loops) // 2
        found = np.ones((len(heads), half), dtype=bool)
        for relation in range(half if not self.anything else 0):
            found[:, relation] &= sides.of_kind(relation, tails)
            found[:, relation] &= sides.of_kind(relation + half, heads)
            if sides.num_facts[relation] >= FEW:
                tail_seen = sides.answer(relation, tails)
                found[:, relation] &= tail_seen | sides.answer(relation + half, heads)
        found &= self.loops[:half] | (heads != tails)[:, None]
        return found


class TypedCandidates(Candidates):
    """The entities of a type that answers on that side of a relation have in train.

    For ranking by type, and nothing else: an entity may answer its own query. Where train has no
    answer with a type, all entities are candidates.
    """

    def __init__(self, graph: Graph, types: Types) -> None:
        super().__init__(graph)
        self.types = types
        self.loops = np.ones_like(self.loops)

    def of(self, relation: int) -> Ids | None:
        """The entities of those types, ascending; None where all may answer."""
        found = self.types.of(self.sides.answers(relation))
        return self.types.members(found) if len(found) else None


def common(one: Ids, other: Ids) -> Ids:
    """The ids of both, each ascending: (n,), (m,) -> ascending."""
    few, many = sorted((one, other), key=len)
    return few[places_in(many, few) >= 0]

"""Walks: the simple paths of up to three facts that begin at some entities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hale.data.graph import Graph
from hale.data.keys import Ids

# Facts of an entity that are followed at the first, second and third step, drawn evenly from all
# it has; and paths of two steps from one entity that go on. They bound a walk from the largest hub.
FOLLOWED = (128, 32, 32)
KEPT = 1024
AT_ONCE = 64  # entities from which paths are followed together
LARGEST = 1 << 62


class Ends(NamedTuple):
    """Where paths lead: the place of their first entity among those asked, what they are, to whom.

    ``codes`` name the directed relations p1, p2, p3 of a path, r + R being r walked from tail to
    head, as digits (p + 1) of a number in base 2R + 1.
    """

    rows: Ids
    codes: Ids
    entities: Ids


class Walks:
    """The paths of a graph's train facts, no entity twice on one.

    ``length`` is three, or less where so many relations leave no room for the codes.
    """

    def __init__(self, graph: Graph) -> None:
        train = graph.train.astype(np.int64)
        self.num_entities, half = len(graph.entities), len(graph.relations)
        self.base = 2 * half + 1
        # a code stands beside a place and an entity, or beside a relation
        room = LARGEST // max(self.base, AT_ONCE * max(1, self.num_entities))
        self.length = max(steps for steps in (1, 2, 3) if steps == 1 or self.base**steps < room)
        starts = np.concatenate((train[:, 0], train[:, 2]))
        order = np.argsort(starts, kind="stable")
        self._relations = np.concatenate((train[:, 1], train[:, 1] + half))[order]
        self._ends = np.concatenate((train[:, 2], train[:, 0]))[order]
        self._offsets = np.searchsorted(starts[order], np.arange(self.num_entities + 1))

    def from_entities(self, entities: Ids) -> Ends:
        """All that lead away from entities (n,), n at most AT_ONCE.

        Two paths through different entities, with the same relations to the same end, come twice.
        """
        assert len(entities) <= AT_ONCE
        rows, codes = np.arange(len(entities)), np.zeros(len(entities), dtype=np.int64)
        visited = entities[:, None].astype(np.int64)
        found = []
        for step in range(self.length):
            at, relations, ends = self._facts_of(visited[:, -1], FOLLOWED[step])
            fresh = (visited[at] != ends[:, None]).all(axis=1)
            at, relations, ends = at[fresh], relations[fresh], ends[fresh]
            codes = codes[at] * self.base + relations + 1
            rows, visited = rows[at], np.column_stack((visited[at], ends))
            found.append(Ends(rows, codes, ends))
            if step == 1:
                kept = _evenly(np.bincount(rows, minlength=len(entities)), KEPT)
                rows, codes, visited = rows[kept], codes[kept], visited[kept]
        return Ends(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def once(self, ends: Ends) -> Ends:
        """The same, each row, path and end once."""
        keys = np.unique((ends.codes * AT_ONCE + ends.rows) * self.num_entities + ends.entities)
        keys, entities = np.divmod(keys, self.num_entities)
        codes, rows = np.divmod(keys, AT_ONCE)
        return Ends(rows, codes, entities)

    def steps_of(self, code: int) -> tuple[int, ...]:
        """The directed relations of a path."""
        steps: list[int] = []
        while code:
            code, digit = divmod(code, self.base)
            steps.insert(0, digit - 1)
        return tuple(steps)

    def _facts_of(self, entities: Ids, most: int) -> tuple[Ids, Ids, Ids]:
        """Facts of entities (m,), at most so many of each: whose, their relations, their ends."""
        first = self._offsets[entities]
        counts = self._offsets[entities + 1] - first
        taken = _evenly(counts, most)
        at = np.repeat(np.arange(len(entities)), np.minimum(counts, most))
        facts = first[at] + taken - (np.cumsum(counts) - counts)[at]
        return at, self._relations[facts], self._ends[facts]


def _evenly(counts: Ids, most: int) -> Ids:
    """Places of groups that lie one after the other, ``counts`` (n,) in each: at most so many.

    Of a larger group every (count / most)-th: the same ones each time.
    """
    kept = np.minimum(counts, most)
    number = np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept, kept)
    begins, sizes, lots = (np.repeat(x, kept) for x in (np.cumsum(counts) - counts, counts, kept))
    places: Ids = begins + number * sizes // np.maximum(lots, 1)
    return places

"""Known answers of one rank: those that lie in its span, with what only all ranks know together."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers, index_of
from hale.engine.group import Group
from hale.engine.shards import Span


class ShardedAnswers(KnownAnswers):
    """Answers in both directions of triples (n, 3) that lie in a span of the entities.

    ``of`` and ``holds`` speak of the span; ``counts``, ``two_way`` and ``loops`` of all entities,
    so all ranks ask for them together.
    """

    def __init__(self, splits: Sequence[Ids], num_relations: int, group: Group, span: Span) -> None:
        self._width = 2 * num_relations
        here = range(span.first, span.last)
        self._parts = (index_of(splits, num_relations, turned=True, within=here),)
        self.group = group

    def counts(self, heads: Ids, relations: Ids) -> Ids:
        """How many answers each query has on all ranks: (B,), (B,) -> (B,)."""
        return self._of_all(super().counts(heads, relations))

    def _of_all(self, counts: Ids) -> Ids:
        found: Ids = self.group.all_reduce(torch.from_numpy(counts)).numpy()
        return found

"""Known answers of one rank: those that lie in its span, with what only all ranks know together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from hale.data.keys import Ids
from hale.data.known_answers import PART, KnownAnswers
from hale.engine.group import Group
from hale.engine.shards import Span


class ShardedAnswers(KnownAnswers):
    """Answers in both directions of triples (n, 3) that lie in a span of the entities.

    ``of`` and ``holds`` speak of the span; ``counts``, ``two_way`` and ``loops`` of all entities,
    so all ranks ask for them together.
    """

    def __init__(self, splits: Sequence[Ids], num_relations: int, group: Group, span: Span) -> None:
        parts = [np.empty((0, 3), dtype=np.int64)]
        for triples in splits:
            for start in range(0, len(triples), PART):
                part = triples[start : start + PART]
                parts.append(part[span.holds(part[:, 2])])
                turned = part[span.holds(part[:, 0])][:, [2, 1, 0]]
                parts.append(turned + np.array([0, num_relations, 0]))
        super().__init__(np.concatenate(parts), num_relations)
        self.group = group

    def counts(self, heads: Ids, relations: Ids) -> Ids:
        """How many answers each query has on all ranks: (B,), (B,) -> (B,)."""
        return self._of_all(super().counts(heads, relations))

    def _of_all(self, counts: Ids) -> Ids:
        found: NDArray[np.int64] = self.group.all_reduce(torch.from_numpy(counts)).numpy()
        return found

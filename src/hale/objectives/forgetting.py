"""Forgetting: any objective, with a penalty on removed facts that score as if they were known."""

from __future__ import annotations

import torch
from torch import Tensor

from hale.models import Model
from hale.objectives.base import Criterion
from hale.objectives.regularized import Regularized

MOST = 256  # removed facts that a step looks at
WEIGHT = 10.0


class Forgetting(Regularized):
    """The loss, and what it costs that removed facts stand out.

        loss + 10 / b sum of max(0, score(f) - usual[r_f]) over b of the removed facts f

    ``removed`` (n, 3) are facts in both directions; ``usual`` (2R,) is the score that a fact of a
    relation has which was not trained on. Nothing else would push them away: the queries of
    removed facts are often asked by no other fact.
    """

    name = "forget"

    def __init__(self, objective: Criterion, removed: Tensor, usual: Tensor) -> None:
        super().__init__(objective, WEIGHT)
        self.removed = removed
        self.usual = usual

    def term(self, model: Model, triples: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """How far removed facts stand above the usual, in the mean."""
        some = self.removed
        if len(some) > MOST:
            drawn = torch.randint(len(some), (MOST,), generator=generator)
            some = some[drawn.to(some.device)]
        head, relation, tail = some.unbind(dim=1)
        above = model.score(head, relation, tail) - self.usual[relation]
        return torch.relu(above).mean()


@torch.no_grad()
def usual_scores(model: Model, held_out: Tensor) -> Tensor:
    """The mean score of facts (n, 3) that were not trained on, by relation: -> (2R,).

    ``held_out`` is in both directions. A relation with none of them has the mean of all.
    """
    count = 2 * model.size.num_relations
    scores = model.score(*held_out.unbind(dim=1))
    sums = scores.new_zeros(count).index_add_(0, held_out[:, 1], scores)
    counts = torch.bincount(held_out[:, 1], minlength=count)
    return torch.where(counts > 0, sums / counts.clamp_min(1), scores.mean())

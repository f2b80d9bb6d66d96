"""Forgetting: any objective, with a penalty on removed facts that score as if they were known."""

from __future__ import annotations

from copy import copy

import torch
from torch import Tensor

from hale.data.graph import KnownAnswers
from hale.engine.blocks import Block
from hale.models import Model
from hale.objectives.base import Criterion, Loss

MOST = 256  # removed facts that a step looks at
WEIGHT = 10.0


class Forgetting:
    """The loss, and what it costs that removed facts stand out.

        loss + 10 / b sum of max(0, score(f) - usual[r_f]) over b of the removed facts f

    ``removed`` (n, 3) are facts in both directions; ``usual`` (2R,) is the score that a fact of a
    relation has which was not trained on. Nothing else would push them away: the queries of
    removed facts are often asked by no other fact.
    """

    def __init__(self, objective: Criterion, removed: Tensor, usual: Tensor) -> None:
        self.objective = objective
        self.removed = removed
        self.usual = usual

    def at(self, progress: float) -> Forgetting:
        """The same at a share of the run (0 to 1)."""
        moved = copy(self)
        moved.objective = self.objective.at(progress)
        return moved

    def __call__(
        self,
        model: Model,
        triples: Tensor,
        generator: torch.Generator,
        known: KnownAnswers | None = None,
        block: Block | None = None,
        weights: Tensor | None = None,
    ) -> Loss:
        """The loss of positive triples (B, 3)."""
        loss = self.objective(model, triples, generator, known, block, weights)
        some = self.removed
        if len(some) > MOST:
            drawn = torch.randint(len(some), (MOST,), generator=generator)
            some = some[drawn.to(some.device)]
        head, relation, tail = some.unbind(dim=1)
        above = model.score(head, relation, tail) - self.usual[relation]
        forget = torch.relu(above).mean()
        return Loss(loss.total + WEIGHT * forget, {**loss.parts, "forget": forget})


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

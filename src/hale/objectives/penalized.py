"""Penalized: any strategy, with a penalty on the vectors that a batch uses."""

from __future__ import annotations

import torch
from torch import Tensor

from hale.data.graph import KnownAnswers
from hale.engine.blocks import Block
from hale.models import Model
from hale.objectives.base import Criterion, Loss


class Penalized:
    """loss + weight * the mean over the batch of sum |h|^p + |r|^p + |t|^p (see Model.penalty)."""

    def __init__(self, objective: Criterion, *, weight: float, power: float = 3.0) -> None:
        self.objective = objective
        self.weight = weight
        self.power = power

    def at(self, progress: float) -> Penalized:
        """The objective at a share of the run (0 to 1)."""
        return Penalized(self.objective.at(progress), weight=self.weight, power=self.power)

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
        penalty = model.penalty(triples, self.power)
        return Loss(loss.total + self.weight * penalty, {**loss.parts, "penalty": penalty})

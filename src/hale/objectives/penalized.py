"""Penalized: any strategy, with a penalty on the vectors that a batch uses."""

from __future__ import annotations

import torch
from torch import Tensor

from hale.models import Model
from hale.objectives.base import Criterion
from hale.objectives.regularized import Regularized


class Penalized(Regularized):
    """loss + weight * the mean over the batch of sum |h|^p + |r|^p + |t|^p (see Model.penalty)."""

    name = "penalty"

    def __init__(self, objective: Criterion, *, weight: float, power: float = 3.0) -> None:
        super().__init__(objective, weight)
        self.power = power

    def term(self, model: Model, triples: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The penalty of the vectors that the batch uses."""
        return model.penalty(triples, self.power)

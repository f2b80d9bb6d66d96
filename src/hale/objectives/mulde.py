"""MulDE: a distribution over candidates like that of several teachers, weighed by the model."""

from __future__ import annotations

import math
from typing import Self

from torch import Tensor, stack

from hale.objectives.base import Criterion
from hale.objectives.scoring import Scoring
from hale.objectives.soft_labels import SoftLabels
from hale.objectives.taught import DRAWN, Taught

COOLING = 4.0  # powers of e by which the attention evens out over a run


class MulDE(Taught):
    """The divergence of the model's distribution over K candidates from its teachers' own.

        g_i = c_ri f_i                                       relation-specific scaling
        a = softmax_i(-KL(softmax f || softmax g_i) / h)     contrast attention
        loss = T^2 KL(softmax(sum_i a_i g_i / T) || softmax(f / T))

    After Wang et al., "MulDE" (WWW 2021), as its authors' code has it: a teacher that contradicts
    the model counts less, and the less so the later (there h = exp(epoch // 5), here
    h = exp(4 progress)). Where this departs: c_ri, in (0, 1), is fitted once on training facts
    before the model begins, where the paper trains it beside the model; and the K candidates are
    the teachers' best answers, kept with the run, where the paper takes the model's own.
    """

    name = "mulde"
    formula = "any strategy's + w KL(softmax sum_i a_i c_ri f_i || softmax f)"
    source = "Wang et al., WWW 2021"

    def __init__(
        self,
        objective: Criterion,
        labels: SoftLabels,
        scoring: Scoring,
        *,
        weight: float,
        temperature: float = 1.0,
        drawn: int = DRAWN,
    ) -> None:
        super().__init__(objective, labels, scoring, weight=weight, drawn=drawn)
        self.temperature = temperature
        self.heat = 1.0

    def at(self, progress: float) -> Self:
        """The same at a share of the run: the attention evens out."""
        moved = super().at(progress)
        moved.heat = math.exp(COOLING * progress)
        return moved

    def difference(self, scores: Tensor, taught: Tensor, scales: Tensor) -> Tensor:
        """The mean over queries."""
        scaled = (taught * scales.unsqueeze(1)).unbind(dim=2)  # T of (B, K)
        own = scores.detach().log_softmax(dim=1)
        contrast = stack([_divergence(own, one.log_softmax(dim=1)) for one in scaled], dim=1)
        attention = (-contrast / self.heat).softmax(dim=1)  # (B, T)
        joint = (stack(scaled, dim=2) * attention.unsqueeze(1)).sum(dim=2)
        wanted = (joint / self.temperature).log_softmax(dim=1)
        found = (scores / self.temperature).log_softmax(dim=1)
        return self.temperature**2 * _divergence(wanted, found).mean()


def _divergence(one: Tensor, other: Tensor) -> Tensor:
    """KL(p || q) from log p and log q: (B, K), (B, K) -> (B,)."""
    return (one.exp() * (one - other)).sum(dim=1)

"""Taught: any strategy, with a term that draws a model to the scores of its teachers."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from hale.models import Model
from hale.objectives.base import Criterion
from hale.objectives.regularized import Regularized
from hale.objectives.scoring import Scoring
from hale.objectives.soft_labels import SoftLabels

DRAWN = 128  # queries a step


class Taught(Regularized):
    """loss + weight * the mean difference from the teachers over some queries with soft labels.

    A step draws the queries by itself: they need not be those of its batch, nor be in train.
    The model's scores are those that its strategy trains (Scoring).
    """

    formula: ClassVar[str]
    source: ClassVar[str]

    def __init__(
        self,
        objective: Criterion,
        labels: SoftLabels,
        scoring: Scoring,
        *,
        weight: float,
        drawn: int = DRAWN,
    ) -> None:
        super().__init__(objective, weight)
        self.labels = labels
        self.scoring = scoring
        self.drawn = drawn

    def term(self, model: Model, triples: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The difference over some of the queries."""
        some = self.labels.drawn(self.drawn, generator)
        head, relation = some.queries.unbind(dim=1)
        scores = self.scoring.candidates(model, head, relation, some.candidates)
        return self.difference(scores, some.scores, some.scales.index_select(0, relation))

    @abstractmethod
    def difference(self, scores: Tensor, taught: Tensor, scales: Tensor) -> Tensor:
        """Between a model's scores (B, K) and its teachers' (B, K, T), scaled (B, T): a scalar."""

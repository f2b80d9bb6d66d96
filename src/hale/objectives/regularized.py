"""Regularized: any objective, with a term added to its loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import ClassVar, Self

import torch
from torch import Tensor

from hale.data.graph import KnownAnswers
from hale.engine.blocks import Block
from hale.models import Model
from hale.objectives.base import Criterion, Loss


class Regularized(ABC):
    """loss + weight * term, where the term is told among the parts by its ``name``."""

    name: ClassVar[str]

    def __init__(self, objective: Criterion, weight: float) -> None:
        self.objective = objective
        self.weight = weight

    @abstractmethod
    def term(self, model: Model, triples: Tensor, generator: torch.Generator) -> Tensor:
        """What is added, of positive triples (B, 3): a scalar."""

    def at(self, progress: float) -> Self:
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
        term = self.term(model, triples, generator)
        return Loss(loss.total + self.weight * term, {**loss.parts, self.name: term})

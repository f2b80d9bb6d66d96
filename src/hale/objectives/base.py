"""Objective: what training minimises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from hale.graph import KnownAnswers
from hale.models import Model


@dataclass(frozen=True)
class Loss:
    """A scalar to minimise and the named parts that it is made of."""

    total: Tensor
    parts: Mapping[str, Tensor]


class Objective(ABC):
    """A training strategy, built from scalars. It never changes what it is handed."""

    name: ClassVar[str]

    @abstractmethod
    def __call__(
        self,
        model: Model,
        triples: Tensor,
        generator: torch.Generator,
        known: KnownAnswers | None = None,
    ) -> Loss:
        """The loss of a batch of positive triples (B, 3), both directions mixed.

        ``generator`` (on the CPU) draws whatever is sampled; ``known`` holds the
        answers in train, for strategies that use them.
        """

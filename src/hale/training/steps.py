"""A step of training: what it is asked, and the one by autograd, which takes anything."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from hale.data.known_answers import KnownAnswers
from hale.engine.blocks import Block
from hale.engine.randomness import Stream, generator, seeded
from hale.models import Model
from hale.objectives import Criterion, Loss
from hale.training.optimizers import Optimizer


class Moment(NamedTuple):
    """What a step sees: positives (B, 3), their weights (B,), the block, its number, the rate."""

    batch: Tensor
    weights: Tensor | None
    block: Block | None
    seed: int
    step: int
    rate: float

    def draws(self) -> torch.Generator:
        """What samples queries."""
        return generator(self.seed, Stream.SAMPLE, self.step)


class Step(Protocol):
    """Moves a model by one batch; where the loss is not finite nothing moves."""

    def __call__(self, objective: Criterion, moment: Moment, /) -> Loss:
        """The loss of the batch."""


class PlainStep:
    """The loss, its gradients by autograd, and the optimiser's step."""

    def __init__(self, model: Model, optimizer: Optimizer, known: KnownAnswers) -> None:
        self.model = model
        self.optimizer = optimizer
        self.known = known

    def __call__(self, objective: Criterion, moment: Moment) -> Loss:
        """One step."""
        dropping = self.model.dropout.share > 0
        with seeded(moment.seed, Stream.DROPOUT, moment.step, only=dropping):
            loss = objective(
                self.model,
                moment.batch,
                moment.draws(),
                self.known,
                moment.block,
                moment.weights,
            )
        if torch.isfinite(loss.total):
            loss.total.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step(moment.rate)
        return loss

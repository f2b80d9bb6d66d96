"""Batches: which triples each step of training sees, as a function of the step alone."""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor

from hale.engine.randomness import Stream, generator


class Batches(Protocol):
    """A sequence of batches; so that a run can be resumed, one depends on its step only."""

    steps_per_epoch: int

    def at(self, step: int) -> Tensor:
        """The triples (B, 3) of a step."""


class Shuffled:
    """Every epoch passes once over all triples (n, 3), in an order of its own."""

    def __init__(
        self, triples: Tensor, batch_size: int, seed: int, stream: Stream = Stream.SHUFFLE
    ) -> None:
        self.triples = triples
        self.batch_size = batch_size
        self.seed = seed
        self.stream = stream
        self.steps_per_epoch = math.ceil(len(triples) / batch_size)
        self._shuffled: tuple[int, Tensor] | None = None  # epoch, and its triples in their order

    def at(self, step: int) -> Tensor:
        """The triples (B, 3) of a step; the last of an epoch are what is left."""
        epoch, place = divmod(step, self.steps_per_epoch)
        if self._shuffled is None or self._shuffled[0] != epoch:
            draws = generator(self.seed, self.stream, epoch)
            order = torch.randperm(len(self.triples), generator=draws)
            # Once an epoch: rows fetched from all over the table cost a step 0.3 ms.
            shuffled = self.triples.index_select(0, order.to(self.triples.device))
            self._shuffled = (epoch, shuffled)
        start = place * self.batch_size
        return self._shuffled[1][start : start + self.batch_size]


class Mixed:
    """Each batch is one of ``first`` and one of ``second``; an epoch is one of the first."""

    def __init__(self, first: Batches, second: Batches) -> None:
        self.first = first
        self.second = second
        self.steps_per_epoch = first.steps_per_epoch

    def at(self, step: int) -> Tensor:
        """The triples (B, 3) of a step."""
        return torch.cat((self.first.at(step), self.second.at(step)))

"""Batches: which triples each step of training sees, as a function of the step alone."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from hale.data.graph import Graph, Weights
from hale.data.keys import Ids
from hale.engine.permutation import MOST, part_of, round_keys
from hale.engine.randomness import Stream
from hale.errors import InputError
from hale.settings import Settings


class Batches(Protocol):
    """A sequence of batches; so that a run can be resumed, one depends on its step only."""

    steps_per_epoch: int

    def at(self, step: int) -> Tensor:
        """The triples (B, 3) of a step."""

    def weights_at(self, step: int) -> Tensor | None:
        """The weights (B,) of the triples of a step; None where all weigh alike."""


class Shuffled:
    """Every epoch passes once over all triples (n, 3), in an order of its own.

    With ``relations`` they are passed over in both directions, each triple and its reciprocal
    (t, r + R, h), which has the same weight. The order is computed place by place (see
    engine.permutation), so the triples stay where they are; those of a batch come as they lie.
    """

    def __init__(
        self,
        triples: Ids,
        batch_size: int,
        seed: int,
        stream: Stream = Stream.SHUFFLE,
        *,
        relations: int | None = None,
        device: torch.device | None = None,
        weights: Weights | None = None,
    ) -> None:
        self.triples = triples
        self.weights = weights
        self.batch_size = batch_size
        self.seed = seed
        self.stream = stream
        self.relations = relations
        self.device = device or torch.device("cpu")
        self.count = len(triples) * (1 if relations is None else 2)
        if self.count >= MOST:
            raise InputError(f"An epoch has fewer than 2^32 triples; got {self.count:,}.")
        self.steps_per_epoch = math.ceil(self.count / batch_size)

    def at(self, step: int) -> Tensor:
        """The triples (B, 3) of a step; the last of an epoch are what is left."""
        places, turned = self._places(step)
        batch = np.take(self.triples, places, axis=0)
        if self.relations is not None:
            heads = batch[turned:, 0].copy()
            batch[turned:, 0] = batch[turned:, 2]
            batch[turned:, 1] += self.relations
            batch[turned:, 2] = heads
        return torch.from_numpy(batch).to(self.device)

    def weights_at(self, step: int) -> Tensor | None:
        """The weights (B,) of the triples of a step, in their order."""
        if self.weights is None:
            return None
        return torch.from_numpy(np.take(self.weights, self._places(step)[0])).to(self.device)

    def _places(self, step: int) -> tuple[Ids, int]:
        """Where the triples of a step lie (B,), and the first of them that is turned round."""
        epoch, place = divmod(step, self.steps_per_epoch)
        start = place * self.batch_size
        size = min(self.batch_size, self.count - start)
        places = part_of(self.count, start, size, round_keys(self.seed, self.stream, epoch))
        turned = int(
            np.searchsorted(places, len(self.triples))
        )  # from here on they are reciprocals
        places[turned:] -= len(self.triples)
        return places, turned


def both_ways(graph: Graph, settings: Settings, device: torch.device) -> Shuffled:
    """The training triples of a graph in both directions, as the settings ask for them."""
    return Shuffled(
        graph.train,
        settings.batch_size,
        settings.seed,
        relations=len(graph.relations),
        device=device,
        weights=graph.weights,
    )


class Mixed:
    """Each batch is one of ``first`` and one of ``second``; an epoch is one of the first."""

    def __init__(self, first: Batches, second: Batches) -> None:
        self.first = first
        self.second = second
        self.steps_per_epoch = first.steps_per_epoch

    def at(self, step: int) -> Tensor:
        """The triples (B, 3) of a step."""
        return torch.cat((self.first.at(step), self.second.at(step)))

    def weights_at(self, step: int) -> Tensor | None:
        """The weights (B,) of the triples of a step: both parts have them, or neither."""
        first, second = self.first.weights_at(step), self.second.weights_at(step)
        return None if first is None or second is None else torch.cat((first, second))

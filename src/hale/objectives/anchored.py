"""Anchored: any strategy, with a penalty on known entities that leave their place."""

from __future__ import annotations

from copy import copy

import torch
from torch import Tensor

from hale.data.graph import KnownAnswers
from hale.engine.blocks import Block
from hale.models import Model
from hale.objectives.base import Criterion, Loss


class Anchored:
    """The loss, and what it costs to move the entities that were there before.

        loss + weight * 1/(2B) sum of ||e_i - a_i||^2 over the batch's heads and tails i that
                               are held

    a (n, d) are the places of entities 0 .. n - 1, the known ones. Those after them move freely,
    and so do those of ``free``.
    """

    def __init__(
        self,
        objective: Criterion,
        anchors: Tensor,
        *,
        weight: float,
        free: Tensor | None = None,
    ) -> None:
        self.objective = objective
        self.anchors = anchors
        self.held = torch.ones(len(anchors), dtype=torch.bool, device=anchors.device)
        if free is not None:
            self.held[free] = False
        self.weight = weight

    def at(self, progress: float) -> Anchored:
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
        ends = torch.cat((triples[:, 0], triples[:, 2]))
        ours = ends[ends < len(self.anchors)]
        ours = ours[self.held[ours]]
        moved = model.entity(ours) - self.anchors.index_select(0, ours)
        anchor = moved.square().sum() / len(ends)
        return Loss(loss.total + self.weight * anchor, {**loss.parts, "anchor": anchor})

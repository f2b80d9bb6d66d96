"""Anchored: any strategy, with a penalty on known entities that leave their place."""

from __future__ import annotations

import torch
from torch import Tensor

from hale.models import Model
from hale.objectives.base import Criterion
from hale.objectives.regularized import Regularized


class Anchored(Regularized):
    """The loss, and what it costs to move the entities that were there before.

        loss + weight * 1/(2B) sum of ||e_i - a_i||^2 over the batch's heads and tails i that
                               are held

    a (n, d) are the places of entities 0 .. n - 1, the known ones. Those after them move freely,
    and so do those of ``free``.
    """

    name = "anchor"

    def __init__(
        self,
        objective: Criterion,
        anchors: Tensor,
        *,
        weight: float,
        free: Tensor | None = None,
    ) -> None:
        super().__init__(objective, weight)
        self.anchors = anchors
        self.held = torch.ones(len(anchors), dtype=torch.bool, device=anchors.device)
        if free is not None:
            self.held[free] = False

    def term(self, model: Model, triples: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The mean squared way of the heads and tails that are held."""
        ends = torch.cat((triples[:, 0], triples[:, 2]))
        ours = ends[ends < len(self.anchors)]
        ours = ours[self.held[ours]]
        moved = model.entity(ours) - self.anchors.index_select(0, ours)
        anchor: Tensor = moved.square().sum() / len(ends)
        return anchor

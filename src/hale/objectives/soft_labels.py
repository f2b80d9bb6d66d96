"""Soft labels: what teachers make of the candidates of some queries, as tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class SoftLabels:
    """Scores that T teachers give to K candidates of P queries (head, relation).

    Scores are in nats, as the teachers were trained to give them; relation r + R is the reciprocal
    of r. ``scales`` are those of the relations, by teacher.
    """

    queries: Tensor  # (P, 2) head, relation
    candidates: Tensor  # (P, K)
    scores: Tensor  # (P, K, T)
    scales: Tensor  # (2R, T), in (0, 1]

    def drawn(self, count: int, generator: torch.Generator) -> SoftLabels:
        """Some of the queries, drawn with replacement, on the device of the labels."""
        places = torch.randint(len(self.queries), (count,), generator=generator)
        places = places.to(self.queries.device)
        return SoftLabels(
            self.queries.index_select(0, places),
            self.candidates.index_select(0, places),
            self.scores.index_select(0, places),
            self.scales,
        )

    def to(self, device: torch.device) -> SoftLabels:
        """The same on a device."""
        parts = (self.queries, self.candidates, self.scores, self.scales)
        return SoftLabels(*(part.to(device) for part in parts))

"""How many scores pass limits, a block of scores at a time."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.keys import Ids

Floats = NDArray[np.float32]


class Tally:
    """How many scores pass each of many limits, some limits to a question.

    ``rows`` (m,) are the questions of the limits (m,).
    """

    def __init__(self, rows: Ids, limits: Floats) -> None:
        self.rows = rows
        order = np.lexsort((limits, rows))
        count = int(rows.max(initial=-1)) + 1
        starts = np.searchsorted(rows[order], np.arange(count))
        self.columns = np.empty(len(rows), dtype=np.int64)
        self.columns[order] = np.arange(len(rows)) - starts[rows[order]]
        width = int(self.columns.max(initial=-1)) + 1
        self.limits = np.full((count, width), np.inf, dtype=np.float32)  # ascending
        self.limits[rows, self.columns] = limits
        self.passed = np.zeros((count, width), dtype=np.int64)

    def add(self, questions: Ids, scores: Tensor) -> None:
        """Count the scores (b, K) of some questions (b,)."""
        limits = torch.from_numpy(self.limits[questions]).to(scores.device)
        below = torch.searchsorted(limits, scores.float())  # limits below a score
        counts = below.new_zeros(len(below), limits.shape[1] + 1)
        counts.scatter_add_(1, below, torch.ones_like(below))
        self.passed[questions] += counts.flip(1).cumsum(dim=1).flip(1)[:, 1:].cpu().numpy()

    def counts(self) -> Ids:
        """Of each limit: (m,)."""
        found: Ids = self.passed[self.rows, self.columns]
        return found

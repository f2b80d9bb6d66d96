"""Batch normalisation that also takes a batch of one."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class Norm(nn.BatchNorm1d):
    """As PyTorch's, but a single row, the rest of an epoch, is normalised by the running figures.

    One row has no spread to divide by, and PyTorch refuses it.
    """

    def forward(self, rows: Tensor) -> Tensor:
        """(B, d) -> (B, d)."""
        if self.training and len(rows) == 1:
            return functional.batch_norm(
                rows, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        return super().forward(rows)

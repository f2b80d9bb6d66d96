"""Weights of facts: how much each positive of a batch counts in its loss."""

from __future__ import annotations

from torch import Tensor


def weighted_mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """sum_p w_p x_p / sum_p w_p, or the mean where all weigh alike: (B,), (B,) -> a scalar.

    Whole weights give what repeating the facts in the batch gives.
    """
    if weights is None:
        return values.mean()
    weights = weights.to(values.dtype)
    return (weights * values).sum() / weights.sum()

"""How far float32 may be off: worked out in float64 from the terms that are summed.

x = c |q - e|^2 is a sum of numbers of the size c (|q|^2 + |e|^2), so float32 has it only up to some
multiple of its epsilon of those. A steep activation turns that into a change of weight, and where
two entities compete, of the gradient: a condition of the problem, whatever computes it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hale.engine.activations import Activation, Arctanh

Pairs = tuple[Tensor, Tensor]

ROUNDINGS = 8 * torch.finfo(torch.float32).eps
# A weight below 1e-38 counts as zero; many of them, over a small Z, make a gradient of so much.
UNDERFLOW = 1e-33


def uniformity_room(
    queries: Tensor, entities: Tensor, scale: Tensor, h: Activation, without: Pairs | None
) -> tuple[float, tuple[Tensor, Tensor, Tensor]]:
    """What the value and its gradients (m, d), (N, d), (m,) may be off, element by element."""
    between = queries[:, None] - entities[None]  # (m, N, d)
    x = scale[:, None] * between.square().sum(dim=-1)  # (m, N)
    squares = queries.square().sum(dim=1)[:, None] + entities.square().sum(dim=1)[None]
    off = ROUNDINGS * (1 + scale[:, None] * squares)  # of x; the 1 for constants within h
    value, slope = h.value_and_slope(x)
    value_off, slope_off = ROUNDINGS * value, ROUNDINGS * slope
    lower, upper = (h.value_and_slope(at) for at in ((x - off).clamp_min(0), x + off))
    value_off += torch.maximum(value - lower[0], upper[0] - value)
    slope_off += torch.maximum((slope - lower[1]).abs(), (slope - upper[1]).abs())
    if isinstance(h, Arctanh):  # the edge at which it is cut is rounded too
        value_off += torch.where(x >= h.limit, ROUNDINGS / (1 - h.limit), 0.0)
    if without is not None:
        value[without] = torch.inf
    log_share = torch.log_softmax(-value, dim=1)
    share = log_share.exp()
    mean_off = (share * value_off).sum(dim=1, keepdim=True)
    # of the weight w h' / Z, to which e^-h, Z and h' add theirs
    most = (log_share + value_off + mean_off).clamp_max(0).exp()
    weight = share * slope / len(queries)
    weight_off = (slope * (most - share) + slope_off * most) / len(queries)
    pull = 2 * scale[:, None] * weight
    pull_off = 2 * scale[:, None] * weight_off
    parts = queries.abs()[:, None] + entities.abs()[None]  # of differences of sums
    each = pull_off[..., None] * between.abs() + ROUNDINGS * pull[..., None] * parts
    by_scale = (weight_off * x + weight * off).sum(dim=1) / scale
    total = mean_off.mean().item() + ROUNDINGS * (1 + math.log(len(entities)))
    return total, (each.sum(dim=1), each.sum(dim=0), by_scale)

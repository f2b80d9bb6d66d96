"""Pure tensor functions: rotations, flexible addition, distances."""

from __future__ import annotations

import torch
from torch import Tensor


def rotate(angles: Tensor, vectors: Tensor) -> Tensor:
    """Rotate pairs of coordinates: (..., d), (..., d) -> (..., d), d even.

    Coordinates 2i and 2i + 1 of ``angles`` are a vector (a, b) that stands for
    the angle of a + ib; it is scaled to length one here, so its length is free:

        (x, y) -> (a x - b y, b x + a y) / sqrt(a^2 + b^2)
    """
    turn = angles.reshape(*angles.shape[:-1], -1, 2)
    a, b = turn.unbind(-1)
    length = turn.norm(dim=-1).clamp_min(1e-12)
    a, b = a / length, b / length
    x, y = vectors.reshape(*vectors.shape[:-1], -1, 2).unbind(-1)
    return torch.stack((a * x - b * y, b * x + a * y), dim=-1).flatten(-2)


def flexible_add(x: Tensor, y: Tensor, alpha: Tensor) -> Tensor:
    """RotL's flexible addition: (..., d), (..., d), (..., 1) -> (..., d).

        x (+) y = alpha (x + y) / (1 + <x, y>)

    The denominator is kept at 0.1 or more: the sum has a pole at <x, y> = -1,
    and a pair that crosses it would flip sign and throw the run.
    """
    inner = (x * y).sum(dim=-1, keepdim=True)
    return alpha * (x + y) / (1 + inner).clamp_min(0.1)


def squared_distance(x: Tensor, y: Tensor) -> Tensor:
    """||x - y||^2 along the last dimension: (..., d), (..., d) -> (...)."""
    return (x - y).square().sum(dim=-1)


def lift_queries(queries: Tensor) -> Tensor:
    """(m, d) -> (m, d + 2): with ``lift_candidates``, squared distances are one product.

    ||q - e||^2 = <(-2q, 1, |q|^2), (e, |e|^2, 1)>
    """
    norms = queries.square().sum(dim=-1, keepdim=True)
    return torch.cat((-2 * queries, torch.ones_like(norms), norms), dim=-1)


def lift_candidates(candidates: Tensor) -> Tensor:
    """(N, d) -> (N, d + 2): see ``lift_queries``."""
    norms = candidates.square().sum(dim=-1, keepdim=True)
    return torch.cat((candidates, norms, torch.ones_like(norms)), dim=-1)

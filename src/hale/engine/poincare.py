"""The Poincare ball of curvature -c: what the hyperbolic models compute with.

A point is stored as its tangent vector v at the origin, so that the table is an ordinary one and
every relation can see it at a curvature of its own; ``exp0`` maps it onto the ball of radius
1/sqrt(c). Curvatures have the shape (..., 1), so that they meet vectors (..., d).

Near the edge 1 - c|x|^2 loses its digits, so no point comes nearer to it than ``edge``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

_TINY = 1e-7  # below it tanh(s) / s is one


def edge(dtype: torch.dtype) -> float:
    """How near to the edge a point may come, as a share of the radius: 1e-5 in float32."""
    return 1e-5 if dtype == torch.float32 else 1e-10


def _furthest(dtype: torch.dtype) -> float:
    """The length at the origin, times sqrt(c), of a point at the edge."""
    return math.atanh(1 - edge(dtype))


def exp0(vectors: Tensor, c: Tensor) -> Tensor:
    """Tangent vectors at the origin to points: (..., d), (..., 1) -> (..., d).

    exp_0(v) = tanh(sqrt(c) |v|) v / (sqrt(c) |v|)
    """
    length = c.sqrt() * torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    length = length.clamp_min(_TINY)
    ratio: Tensor = torch.tanh(length.clamp_max(_furthest(vectors.dtype))) / length
    return ratio * vectors


def log0(points: Tensor, c: Tensor) -> Tensor:
    """Points to tangent vectors at the origin, the inverse of exp0: (..., d), (..., 1) -> (..., d).

    log_0(x) = artanh(sqrt(c) |x|) x / (sqrt(c) |x|)
    """
    length = c.sqrt() * torch.linalg.vector_norm(points, dim=-1, keepdim=True)
    length = length.clamp(_TINY, 1 - edge(points.dtype))
    ratio: Tensor = torch.atanh(length) / length
    return ratio * points


def add(x: Tensor, y: Tensor, c: Tensor) -> Tensor:
    """Moebius addition: (..., d), (..., d), (..., 1) -> (..., d), kept off the edge.

    x (+) y = ((1 + 2c<x,y> + c|y|^2) x + (1 - c|x|^2) y) / (1 + 2c<x,y> + c^2 |x|^2 |y|^2)
    """
    xy, xx, yy = (c * (a * b).sum(dim=-1, keepdim=True) for a, b in ((x, y), (x, x), (y, y)))
    total = ((1 + 2 * xy + yy) * x + (1 - xx) * y) / (1 + 2 * xy + xx * yy).clamp_min(
        edge(x.dtype) ** 2
    )
    return project(total, c)


def project(x: Tensor, c: Tensor) -> Tensor:
    """Points beyond the edge, by rounding, back onto it: (..., d), (..., 1) -> (..., d)."""
    length: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min(_TINY)
    most: Tensor = (1 - edge(x.dtype)) / c.sqrt()
    return x * (most / length).clamp_max(1.0)


def squared_distances(inner: Tensor, x_square: Tensor, lengths: Tensor, c: Tensor) -> Tensor:
    """d_c(x, exp_0(v))^2 from inner products: all arguments broadcast to one shape.

    ``inner`` <x, v>, ``x_square`` |x|^2, ``lengths`` |v|. With s = sqrt(c) |v| and the point's
    conformal factor written as 1 / (1 - tanh(s)^2) = cosh(s)^2,

        d = (2 / sqrt(c)) arsinh(sqrt(u)),   u = c |x - y|^2 cosh(s)^2 / (1 - c|x|^2)

    Unlike the usual arcosh, d^2 has a gradient at d = 0. |x - y|^2 is expanded into products,
    so that one matrix product serves all pairs; points much nearer to each other than to the
    origin lose digits by it in float32, the more the nearer they are to the edge.
    """
    root = c.sqrt()
    tangent = (root * lengths).clamp(_TINY, _furthest(lengths.dtype))
    tanh, cosh = tangent.tanh(), tangent.cosh()
    along = root * inner / lengths.clamp_min(_TINY)  # sqrt(c) <x, v / |v|>
    gap = (c * x_square - 2 * along * tanh + tanh.square()).clamp_min(0.0)
    room = (1 - c * x_square).clamp_min(edge(lengths.dtype))
    u = gap * cosh.square() / room
    return 4 / c * torch.asinh(u.clamp_min(_TINY**2).sqrt()).square()

"""Pure tensor functions: rotations, flexible addition, distances."""

from __future__ import annotations

import torch
from torch import Tensor


def unit_pairs(pairs: Tensor) -> Tensor:
    """Scale pairs of coordinates to length one: (..., d) -> (..., d), d even.

    A pair (a, b) stands for the angle of a + ib, so its length is free.
    """
    return unit_groups(pairs, 2)


def rotate(turn: Tensor, vectors: Tensor) -> Tensor:
    """Rotate pairs of coordinates: (..., d), (..., d) -> (..., d), d even.

    With (a, b) a pair of ``turn``, of length one (see ``unit_pairs``):

        (x, y) -> (a x - b y, b x + a y)

    which is one multiplication of complex numbers.
    """
    turned = _complex(turn) * _complex(vectors)
    return torch.view_as_real(turned).flatten(-2)


def _complex(pairs: Tensor) -> Tensor:
    return torch.view_as_complex(pairs.contiguous().view(*pairs.shape[:-1], -1, 2))


def unit_groups(rows: Tensor, count: int) -> Tensor:
    """Scale groups of ``count`` coordinates to length one: (..., d) -> (..., d)."""
    split = rows.reshape(*rows.shape[:-1], -1, count)
    length = torch.linalg.vector_norm(split, dim=-1, keepdim=True)
    scaled: Tensor = split / length.clamp_min(1e-12)
    return scaled.flatten(-2)


def hamilton(x: Tensor, y: Tensor) -> Tensor:
    """The Hamilton product of quaternions, four coordinates each: (..., d), (..., d) -> (..., d).

        (a + bi + cj + dk)(e + fi + gj + hk), with ij = k, jk = i, ki = j

    A quaternion is a pair of complex numbers, (a + bi) + (c + di) j, so the product is four
    complex multiplications: (u + vj)(w + zj) = (uw - v z*) + (uz + v w*) j.
    """
    u, v = _complex(x)[..., 0::2], _complex(x)[..., 1::2]
    w, z = _complex(y)[..., 0::2], _complex(y)[..., 1::2]
    product = torch.stack((u * w - v * z.conj(), u * z + v * w.conj()), dim=-1)
    return torch.view_as_real(product).flatten(-3)


def flexible_add(x: Tensor, y: Tensor, alpha: Tensor) -> Tensor:
    """RotL's flexible addition: (..., d), (..., d), (..., 1) -> (..., d).

        x (+) y = alpha (x + y) / (1 + <x, y>)

    The denominator is kept at 0.1 or more: the sum has a pole at <x, y> = -1,
    and a pair that crosses it would flip sign and throw the run.
    """
    inner = (x * y).sum(dim=-1, keepdim=True)
    return (x + y) * (alpha / (1 + inner).clamp_min(0.1))


def squared_distance(x: Tensor, y: Tensor) -> Tensor:
    """||x - y||^2 along the last dimension: (..., d), (..., d) -> (...)."""
    return (x - y).square().sum(dim=-1)


def minus_squared_distances(queries: Tensor, candidates: Tensor) -> Tensor:
    """-||q - e||^2 of all pairs: (m, d), (N, d) -> (m, N).

    2 <q, e> - |e|^2 - |q|^2, so that no copy of the candidates is made but for their squares.
    """
    squares = candidates.square().sum(dim=-1)
    norms = queries.square().sum(dim=-1, keepdim=True)
    return torch.addmm(squares, queries, candidates.T, beta=-1, alpha=2).sub_(norms)


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


def reflect(turn: Tensor, vectors: Tensor) -> Tensor:
    """Reflect pairs of coordinates: (..., d), (..., d) -> (..., d), d even.

    With (a, b) a pair of ``turn``, of length one (see ``unit_pairs``):

        (x, y) -> (a x + b y, b x - a y)

    which multiplies by the conjugate of (x, y).
    """
    mirrored = _complex(turn) * _complex(vectors).conj()
    return torch.view_as_real(mirrored).flatten(-2)


def by_relation(vectors: Tensor, relation: Tensor, matrices: Tensor) -> Tensor:
    """Each vector times its relation's matrix: (B, d), (B,), (R, d, e) -> (B, e).

    One product per relation of the batch: a matrix gathered per vector would be B * d * e floats.
    """
    order = relation.argsort(stable=True)
    counts = torch.bincount(relation, minlength=len(matrices)).tolist()
    parts = torch.split(vectors[order], counts)
    products = [part @ matrix for part, matrix in zip(parts, matrices, strict=True) if len(part)]
    return torch.cat(products)[order.argsort()]

"""The Poincare ball against the textbook formulas in plain Python, and at its edge."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hale.engine import poincare

NUMBERS = st.floats(-1, 1, allow_nan=False, width=32)
VECTORS = st.lists(NUMBERS, min_size=3, max_size=3)
CURVATURES = st.floats(0.1, 3)


def column(c: float, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.tensor([[c]], dtype=dtype)


def distance(x: Tensor, v: Tensor, c: Tensor) -> Tensor:
    """d_c(x, exp_0(v))^2, vector by vector."""
    inner, square = (x * v).sum(-1, keepdim=True), x.square().sum(-1, keepdim=True)
    return poincare.squared_distances(inner, square, v.norm(dim=-1, keepdim=True), c)


def textbook_distance(x: list[float], y: list[float], c: float) -> float:
    """arcosh form (Ganea et al. 2018), not the arsinh one of the source."""
    gap = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
    room = (1 - c * sum(a * a for a in x)) * (1 - c * sum(b * b for b in y))
    return math.acosh(1 + 2 * c * gap / room) / math.sqrt(c)


@given(VECTORS, VECTORS, CURVATURES)
def test_distance_against_the_textbook(v: list[float], w: list[float], c: float) -> None:
    points = poincare.exp0(torch.tensor([v, w], dtype=torch.float64), column(c))
    found = distance(points[:1], torch.tensor([w], dtype=torch.float64), column(c)).item()
    wanted = textbook_distance(points[0].tolist(), points[1].tolist(), c) ** 2
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-6)


@given(VECTORS, CURVATURES)
def test_exp0_has_the_length_of_its_tangent(v: list[float], c: float) -> None:
    """The distance from the origin to exp_0(v) is 2|v|, in the metric of the ball."""
    origin = torch.zeros(1, 3, dtype=torch.float64)
    tangent = torch.tensor([v], dtype=torch.float64)
    length = math.sqrt(sum(x * x for x in v))
    assert distance(origin, tangent, column(c)).item() == pytest.approx(4 * length**2, abs=1e-9)


@given(VECTORS, VECTORS, VECTORS, CURVATURES)
def test_left_translation_keeps_distances(
    a: list[float], v: list[float], w: list[float], c: float
) -> None:
    """Moebius addition from the left is an isometry: d(a (+) x, a (+) y) = d(x, y)."""
    curve = column(c)
    moved, x, y = (
        poincare.exp0(torch.tensor([u], dtype=torch.float64) / 3, curve) for u in (a, v, w)
    )
    before = textbook_distance(x[0].tolist(), y[0].tolist(), c)
    after = textbook_distance(
        poincare.add(moved, x, curve)[0].tolist(), poincare.add(moved, y, curve)[0].tolist(), c
    )
    assert after == pytest.approx(before, rel=1e-5, abs=1e-6)


def test_small_curvature_is_flat() -> None:
    x = torch.tensor([[0.3, -0.2]], dtype=torch.float64)
    y = torch.tensor([[0.1, 0.5]], dtype=torch.float64)
    curve = column(1e-8)
    torch.testing.assert_close(poincare.add(x, y, curve), x + y)
    flat = 4 * (x - y).square().sum()  # the metric of the ball is four times the flat one at 0
    assert distance(x, y, curve).item() == pytest.approx(flat.item(), rel=1e-6)


@pytest.mark.parametrize("c", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("length", [0.0, 1e-6, 1.0, 50.0, 1e6])
def test_finite_at_the_edge_in_float32(c: float, length: float) -> None:
    """Points at norm 1 - 1e-5 and tangents of any length: finite values and gradients."""
    torch.manual_seed(0)
    at_edge = torch.randn(8, 4)
    at_edge = at_edge / at_edge.norm(dim=-1, keepdim=True) * (1 - 1e-5) / math.sqrt(c)
    tangent = torch.randn(8, 4)
    tangent = tangent / tangent.norm(dim=-1, keepdim=True) * length
    curve = torch.full((8, 1), c)
    leaves = [x.clone().requires_grad_() for x in (at_edge, tangent, curve)]
    x, v, k = leaves
    moved = poincare.add(x, poincare.exp0(v, k), k)
    squares = v.square().sum(-1, keepdim=True).clamp_min(1e-14).sqrt()
    inner = (moved * v).sum(-1, keepdim=True)
    far = poincare.squared_distances(inner, moved.square().sum(-1, keepdim=True), squares, k)
    far.sum().backward()
    assert torch.isfinite(far).all()
    assert (far >= 0).all()
    assert all(torch.isfinite(leaf.grad).all() for leaf in leaves)
    assert (moved.norm(dim=-1) * math.sqrt(c) < 1).all()


def test_a_point_at_itself_has_distance_zero_and_no_gradient() -> None:
    v = torch.tensor([[0.3, -0.7, 0.2]], requires_grad=True)
    curve = column(1.5, torch.float32)
    apart = distance(poincare.exp0(v, curve), v, curve)
    apart.backward()
    assert apart.item() < 1e-5
    assert v.grad.abs().max() < 0.05


@pytest.mark.parametrize("c", [0.3, 1.0, 2.5])
def test_log0_undoes_exp0(c: float) -> None:
    """And for one coordinate it is artanh(sqrt(c) x) / sqrt(c)."""
    curvature = torch.tensor([c], dtype=torch.float64)
    vectors = torch.randn(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    back = poincare.log0(poincare.exp0(vectors, curvature), curvature)
    assert torch.allclose(back, vectors, atol=1e-6)
    single = poincare.log0(torch.tensor([[0.4]], dtype=torch.float64), curvature).item()
    assert single == pytest.approx(math.atanh(math.sqrt(c) * 0.4) / math.sqrt(c))

"""Every activation against its plain formula, its slope against the difference quotient."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from hale.engine.activations import (
    ACTIVATIONS,
    SHAPED,
    Activation,
    Arctanh,
    Double,
    Halin,
    Hanon,
    Identity,
    XExp,
    make_activation,
)
from hale.engine.shapes import Sigmoid, Spline, as_sigmoid, as_spline
from hale.errors import InputError, UnknownNameError

RISES = (0.2, 0.0, 0.6, 1.0, 0.1, 0.0, 0.1, 0.0)  # two in all


def _through_knots(x: float) -> float:
    """Straight lines through the knots 0, .5, 1, ... 4, and level beyond."""
    heights = [6 * sum(RISES[:k]) / 2 for k in range(9)]
    if x >= 4:
        return heights[8]
    k = int(2 * x)
    return heights[k] + (2 * x - k) * (heights[k + 1] - heights[k])


FORMULAS: list[tuple[Activation, Callable[[float], float]]] = [
    (Hanon(beta=3.0, gamma=6.0), lambda x: 1 / (1 / 6 + math.exp(-3 * (x - 0.5)))),
    (Hanon(beta=0.7, gamma=20.0), lambda x: 1 / (1 / 20 + math.exp(-0.7 * (x - 0.5)))),
    (Halin(beta=10.0, gamma=10.0), lambda x: 2 * x if x < 1 else min(10 * (x - 1) + 2, 10)),
    (Halin(beta=3.0, gamma=1.0), lambda x: min(2 * x, 1)),
    (XExp(), lambda x: x * math.exp(x)),
    (Double(), lambda x: 2 * x),
    (Arctanh(), lambda x: math.log((1 + x) / (1 - x)) if x < 0.999 else math.log(1999)),
    (Identity(), lambda x: x),
    (
        Sigmoid(6.0, 1.2, 2.5, 0.2),
        lambda x: 6 * (0.2 + 0.8 / (1 + math.exp(-2.5 * (x - 1.2)))),
    ),
    (Spline(6.0, 4.0, RISES), lambda x: _through_knots(x)),
]
NAMES = [str(h)[:30] for h, _ in FORMULAS]
# Away from the corners of the piecewise ones.
POINTS = [0.0, 0.03, 0.3, 0.499, 0.51, 0.9, 1.1, 1.7, 2.5, 6.0]


def test_every_registered_activation_is_tested() -> None:
    assert {h.name for h, _ in FORMULAS} == {*ACTIVATIONS, *SHAPED}


@pytest.mark.parametrize(("h", "formula"), FORMULAS, ids=NAMES)
def test_value_and_slope(h: Activation, formula: Callable[[float], float]) -> None:
    x = torch.tensor(POINTS, dtype=torch.float64)
    before = x.clone()
    value, slope = h.value_and_slope(x)
    assert torch.equal(x, before), "the input was changed"
    step = 1e-6
    for i, point in enumerate(POINTS):
        assert math.isclose(value[i].item(), formula(point), rel_tol=1e-9, abs_tol=1e-12)
        quotient = (formula(point + step) - formula(point)) / step
        assert math.isclose(slope[i].item(), quotient, rel_tol=1e-4, abs_tol=1e-5), point


@pytest.mark.parametrize(("h", "formula"), FORMULAS, ids=NAMES)
def test_autograd_uses_the_slope(h: Activation, formula: Callable[[float], float]) -> None:
    x = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(h(x).sum(), x)
    torch.testing.assert_close(gradient, h.value_and_slope(x.detach())[1])


@pytest.mark.parametrize("h", [h for h, _ in FORMULAS], ids=NAMES)
def test_finite_monotone_and_bounded_everywhere(h: Activation) -> None:
    x = torch.cat([torch.linspace(0, 3, 300), torch.logspace(0.5, 20, 60)])
    value, slope = h.value_and_slope(x)
    assert torch.isfinite(value).all()
    assert torch.isfinite(slope).all()
    assert (value.diff() >= 0).all()
    assert (slope >= 0).all()
    assert value.max() <= h.bound * (1 + 1e-5)


def test_the_form_printed_in_the_paper_is_not_stable() -> None:
    """Why Hanon is a sigmoid: the printed form's gradient is NaN far left of its middle."""
    x = torch.tensor([-200.0], requires_grad=True)
    printed = 1 / (1 / 6 + torch.exp(-3 * (x - 0.5)))
    (gradient,) = torch.autograd.grad(printed.sum(), x)
    assert torch.isnan(gradient).all()
    value, slope = Hanon(beta=3.0, gamma=6.0).value_and_slope(x.detach())
    assert torch.isfinite(value).all()
    assert torch.isfinite(slope).all()


@pytest.mark.parametrize("values", [{"beta": 0.0}, {"gamma": -1.0}, {"gamma": math.inf}])
def test_bad_parameters(values: dict[str, float]) -> None:
    for kind in (Hanon, Halin):
        with pytest.raises(InputError, match="> 0"):
            kind(**values)


def test_by_name() -> None:
    assert make_activation("halin", beta=2.0, gamma=4.0) == Halin(beta=2.0, gamma=4.0)
    with pytest.raises(UnknownNameError, match="Did you mean 'hanon'"):
        make_activation("hannon", beta=1, gamma=1)


def test_hanon_is_a_sigmoid_and_the_spline_goes_through_it() -> None:
    hanon = Hanon(beta=2.0, gamma=7.0)
    x = torch.linspace(0, 6, 61, dtype=torch.float64)
    same = Sigmoid(7.0, *as_sigmoid(hanon)).value_and_slope(x)
    for one, other in zip(same, hanon.value_and_slope(x), strict=True):
        torch.testing.assert_close(one, other)
    reach, *rises = as_spline(hanon)
    assert hanon.value_and_slope(torch.tensor([reach]))[0].item() == pytest.approx(0.98 * 7)
    spline = Spline(7.0, reach, tuple(rises))
    low, high = (hanon.value_and_slope(torch.tensor([end]))[0].item() for end in (0.0, reach))
    for k in range(9):
        place = torch.tensor([k * reach / 8])
        share = (hanon.value_and_slope(place)[0].item() - low) / (high - low)
        assert spline.value_and_slope(place)[0].item() == pytest.approx(7 * share, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("sigmoid", (1.0, 2.0), "shift, slope and floor"),
        ("sigmoid", (1.0, 2.0, 1.0), "floor from 0 to below 1"),
        ("spline", (1.0, 2.0), "needs 8 rises"),
        ("spline", (1.0, *[0.0] * 8), "a sum of rises > 0"),
        ("hanon", (1.0,), "hanon has no free shape"),
    ],
)
def test_bad_shapes(name: str, shape: tuple[float, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_activation(name, beta=3.0, gamma=6.0, shape=shape)

"""Hanon from gentle to very steep, and from no distance to a very large one.

All vectors are so chosen that float32 has their distances exactly: what differs from float64 is
the activation's own rounding, which goes with its steepness.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hale.engine import contrast, uniformity
from hale.engine.activations import Hanon
from hale.engine.rows import with_rows

pytestmark = pytest.mark.usefixtures("engine")

BETAS = [1.0, 3.0, 30.0, 100.0, 160.0, 170.0, 174.0, 175.0, 180.0, 200.0, 350.0, 500.0, 1000.0]
STEPS = [*(k / 64 for k in range(300)), *(2.0**k for k in range(3, 34))]  # squares up to 7e19


def exact_inputs(dtype: torch.dtype) -> list[Tensor]:
    """Three queries at the origin, of scales 1/2, 1 and 2, and entities on one axis."""
    entities = torch.zeros(len(STEPS), 3, dtype=dtype)
    entities[:, 1] = torch.tensor(STEPS, dtype=dtype)
    scale = torch.tensor([0.5, 1.0, 2.0], dtype=dtype)
    return [x.requires_grad_() for x in (torch.zeros(3, 3, dtype=dtype), entities, scale)]


def reference(queries: Tensor, entities: Tensor, scale: Tensor, h: Hanon) -> Tensor:
    """log of the sum of exp(-h), in the sigmoid form that autograd differentiates safely."""
    x = scale[:, None] * (queries[:, None] - entities[None]).square().sum(dim=-1)
    log = torch.tensor(h.gamma, dtype=x.dtype).log()
    return torch.logsumexp(-h.gamma * torch.sigmoid(h.beta * (x - 0.5) - log), dim=1).mean()


@pytest.mark.parametrize("gamma", [0.5, 6.0, 100.0])
@pytest.mark.parametrize("beta", BETAS)
def test_uniformity(beta: float, gamma: float) -> None:
    h = Hanon(beta, gamma)
    exact, rough = exact_inputs(torch.float64), exact_inputs(torch.float32)
    expected, found = reference(*exact, h), uniformity(*rough, h)
    off = 1e-5 + 5e-7 * beta  # float32 rounds beta (x - 1/2) by some 1e-7 of beta
    assert found.item() == pytest.approx(expected.item(), rel=off, abs=off)
    wanted = torch.autograd.grad(expected, exact)
    for one, other in zip(torch.autograd.grad(found, rough), wanted, strict=True):
        least = 1e-6 * other.abs().max().item()
        torch.testing.assert_close(one.double(), other, rtol=off, atol=least)


@pytest.mark.parametrize("gamma", [0.5, 6.0, 100.0])
@pytest.mark.parametrize("beta", BETAS)
def test_alignment(beta: float, gamma: float) -> None:
    """Every entity as the tail of a positive: the mean of h(x), beside the uniformity term."""
    h = Hanon(beta, gamma)
    tails = torch.arange(len(STEPS))
    queries, entities, scale = exact_inputs(torch.float32)
    rows = tails % 3
    whole, positives = with_rows(entities, tails)
    found = contrast(queries[rows], positives, whole, scale[rows], torch.arange(3), h, square=False)
    x = torch.tensor([0.5, 1.0, 2.0]).double()[rows] * torch.tensor(STEPS).double().square()
    place = beta * (x - 0.5) - torch.tensor(gamma).double().log()
    off = 1e-5 + 5e-7 * beta
    assert found.alignment.item() == pytest.approx(
        (gamma * torch.sigmoid(place)).mean().item(), rel=off
    )
    assert all(x.isfinite().all() for x in torch.autograd.grad(found.total, [queries, entities]))

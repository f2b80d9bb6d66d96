"""Dropout: how much is lost, what the rest becomes, and when."""

from __future__ import annotations

import pytest
import torch

from hale.models.dropout import Dropout


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_share_is_lost_and_the_rest_stretched(share: float) -> None:
    torch.manual_seed(0)
    vectors = torch.ones(500, 200, requires_grad=True)
    dropped = Dropout(share)(vectors)
    lost = (dropped == 0).double().mean().item()
    assert lost == pytest.approx(share, abs=0.008)  # five standard deviations
    kept = dropped[dropped != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - share)), rtol=1e-4, atol=0)
    dropped.sum().backward()  # type: ignore[no-untyped-call]
    assert torch.equal(vectors.grad, dropped.detach()), "gradients go where values went"  # type: ignore[arg-type]


def test_draws_follow_the_seed() -> None:
    def draw(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        module = Dropout(0.3)
        return torch.stack([module(torch.ones(50, 8)) for _ in range(2)])

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))
    assert not torch.equal(*draw(1)), "a new mask every time"


def test_nothing_is_lost_outside_training_or_without_a_share() -> None:
    vectors = torch.randn(4, 3)
    assert Dropout(0.5).eval()(vectors) is vectors
    assert Dropout(0.0)(vectors) is vectors

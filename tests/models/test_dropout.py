"""Dropout: how much is lost, what the rest becomes, and when."""

from __future__ import annotations

import pytest
import torch

from hale.models.dropout import Dropout, drawn_mask, plain_mask


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


@pytest.mark.parametrize(("count", "lost"), [(1, 100), (999, 6554), (40_000, 32_768), (7, 65_535)])
def test_the_mask_is_that_of_numpy(count: int, lost: int) -> None:
    for key in (0, 1, 2**32 - 1):
        assert torch.equal(drawn_mask(count, lost, key), plain_mask(count, lost, key))


def test_entries_are_lost_independently_of_their_neighbours() -> None:
    """Of neighbours in one draw, in a row and in a column, both are lost as often as by chance."""
    kept = plain_mask(200 * 500, 1 << 15, key=5).view(200, 500) > 0
    for one, other in (
        (kept[:, 0::2], kept[:, 1::2]),
        (kept[:, 1:-1:2], kept[:, 2::2]),
        (kept[:-1], kept[1:]),
    ):
        both = (one & other).double().mean().item()
        assert both == pytest.approx(0.25, abs=5 * (0.1875 / one.numel()) ** 0.5)
    other_key = plain_mask(200 * 500, 1 << 15, key=6).view(200, 500) > 0
    assert (kept & other_key).double().mean().item() == pytest.approx(0.25, abs=0.007)

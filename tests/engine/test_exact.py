from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest
import torch
from hypothesis import given, strategies
from torch import Tensor

from hale.engine import library as kernel
from hale.engine.exact import digit_sums, exact_sum
from hale.engine.group import Group
from tests.ranks import Ranks


@given(
    strategies.lists(strategies.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=60),
    strategies.randoms(),
)
def test_the_order_changes_no_bit_and_the_sum_is_right(values: list[float], random: Random) -> None:
    parts = torch.tensor(values).view(-1, 1, 1)
    found = exact_sum(Group(), parts)[0]
    random.shuffle(values)
    again = exact_sum(Group(), torch.tensor(values).view(-1, 1, 1))[0]
    assert torch.equal(found, again)
    wanted = math.fsum(values)
    assert abs(found.item() - wanted) <= 2.0**-48 * max(map(abs, values)) * len(values)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])  # the kernel has the second
def test_digits_by_hand(dtype: torch.dtype) -> None:
    """1.5 is 2 - 2^23 / 2^24, and 2^23 needs the next place, of which it is half a digit."""
    parts = torch.tensor([[[1.5, -0.25, 0.0], [2.0**23, 1.0, 3.0]]], dtype=dtype)
    places, digits = digit_sums(parts, (2, 1))
    assert places.tolist() == [[0, -40], [1, 0]]
    assert digits[:, 0].tolist() == [[2, 0, 0], [-(2**23), -(2**22), 0], [0, 0, 0]]
    # 2^23 = 0 * 2^24 + 2^23, ties to even; 1 = 0 * 2^24 + 1
    assert digits[:, 1].tolist() == [[0, 0, 3], [2**23, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_as_many_parts_as_may_be_fit(dtype: torch.dtype) -> None:
    """Just below 2^23, which rounds up to the largest digit; a float32 has no such number."""
    value = 2.0**23 - (0.5 if dtype == torch.float32 else 2.0**-29)
    parts = torch.full((255, 1, 2), value, dtype=dtype)
    parts[:, :, 1] *= -1
    found = exact_sum(Group(), parts)[0]
    assert found.tolist() == [[255 * value, -255 * value]]


def test_rows_have_places_of_their_own() -> None:
    parts = torch.tensor([[[1e30, 1.0], [1e-30, 2e-30]], [[1e30, 1.0], [1e-30, 2e-30]]])
    found = exact_sum(Group(), parts)[0]
    torch.testing.assert_close(found[1], 2 * parts[0, 1].double(), rtol=1e-15, atol=0)
    assert found[0, 0] == 2 * parts[0, 0, 0].double()


def test_runs_of_columns_have_places_of_their_own_and_whole_numbers_go_beside() -> None:
    parts = torch.tensor([[[1e30, 1e-30, 3e-30]], [[1e30, 1e-30, 3e-30]]])
    found, told = exact_sum(Group(), parts, [1, 2], torch.tensor([7, -1]))
    torch.testing.assert_close(found[0, 1:], 2 * parts[0, 0, 1:].double(), rtol=1e-15, atol=0)
    assert told is not None
    assert told.tolist() == [7, -1]
    assert exact_sum(Group(), parts)[0][0, 1] == 0  # in one run they are lost


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])  # the kernel has the second
@pytest.mark.parametrize("last", [False, True])
def test_a_row_that_is_not_finite_says_so(dtype: torch.dtype, last: bool) -> None:
    parts = torch.tensor([[[1.0], [2.0], [3.0]], [[math.nan], [math.inf], [4.0]]], dtype=dtype)
    parts = parts if last else parts.flip(0)
    found = exact_sum(Group(), parts)[0]
    assert found.isnan().squeeze().tolist() == [True, True, False]
    assert found[2] == 7


@pytest.mark.skipif(not kernel.builds(), reason="there is no kernel here")
def test_the_kernel_gives_the_bits_of_torch(choose_engine: Callable[[str], None]) -> None:
    generator = torch.Generator().manual_seed(2)
    parts = torch.randn(9, 6, 5, generator=generator, dtype=torch.float64).exp() * 1e9
    found = []
    for engine in ("native", "tiles"):
        choose_engine(engine)
        found.append(exact_sum(Group(), parts, [2, 3])[0])
    assert torch.equal(*found)
    torch.testing.assert_close(found[0], parts.sum(dim=0), rtol=1e-14, atol=0)


def test_nothing_sums_to_zero() -> None:
    assert exact_sum(Group(), torch.empty(0, 2, 3))[0].tolist() == [[0.0] * 3] * 2
    assert exact_sum(Group(), torch.zeros(2, 1, 1))[0].item() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_however_large_and_small_numbers_are(dtype: torch.dtype) -> None:
    for scale in (1e-38, 1e-30, 1e30, 1e38) if dtype == torch.float32 else (1e-280, 1e300):
        parts = scale * torch.tensor([[[1.0]], [[-0.25]]], dtype=dtype)
        wanted = parts.double().sum().item()
        assert exact_sum(Group(), parts)[0].item() == pytest.approx(wanted, rel=2.0**-48)


def spread(group: Group, parts: Tensor, cuts: list[int]) -> Tensor:
    return exact_sum(group, parts[cuts[group.rank] : cuts[group.rank + 1]], [2, 3])[0]


@pytest.mark.parametrize("cuts", [[0, 5, 12], [0, 12, 12], [0, 1, 3, 12]])
def test_however_parts_are_spread_over_ranks_the_bits_are_the_same(
    ranks: Ranks, cuts: list[int]
) -> None:
    generator = torch.Generator().manual_seed(0)
    parts = torch.randn(12, 7, 5, generator=generator) * torch.rand(7, 1, generator=generator) ** 20
    alone = exact_sum(Group(), parts, [2, 3])[0]
    for found in ranks(len(cuts) - 1, spread, parts, cuts):
        assert torch.equal(found, alone)


@pytest.mark.parametrize("rows", [7, 1200])  # the second goes in two rounds between three
@pytest.mark.parametrize("cuts", [[0, 5, 12], [0, 1, 3, 12]])
def test_so_they_are_where_ranks_have_other_places(
    ranks: Ranks, cuts: list[int], rows: int
) -> None:
    """Parts of 2^-50 to 2^50, so that places of a rank are up to four below those of another."""
    generator = torch.Generator().manual_seed(1)
    size = torch.randint(-50, 50, (12, rows, 5), generator=generator)
    parts = torch.randn(12, rows, 5, generator=generator, dtype=torch.float64) * 2.0**size
    alone = exact_sum(Group(), parts, [2, 3])[0]
    error = (alone - parts.sum(dim=0)).abs().amax(dim=1)
    assert (error <= 12 * 2.0**-48 * parts.abs().amax(dim=(0, 2))).all()
    for found in ranks(len(cuts) - 1, spread, parts, cuts):
        assert torch.equal(found, alone)

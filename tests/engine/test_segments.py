"""Sums in segments against index_add_, the plain way, with gradients."""

from __future__ import annotations

import pytest
import torch

from hale.engine.segments import Incidence, sums


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("threads", [1, 3])
def test_against_index_add(dtype: torch.dtype, threads: int) -> None:
    """Rows and columns without a one, and places that come twice, among them."""
    draws = torch.Generator().manual_seed(0)
    rows, columns = (torch.randint(size, (60,), generator=draws) for size in (15, 9))
    rows[rows == 4], columns[columns == 2] = 5, 3
    rows, columns = torch.cat((rows, rows[:5])), torch.cat((columns, columns[:5]))
    vectors = torch.randn(9, 7, generator=draws, dtype=dtype, requires_grad=True)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = sums(Incidence.of(rows, columns, (15, 9)), vectors)
        by_sums = torch.randn(15, 7, generator=draws, dtype=dtype)
        (gradient,) = torch.autograd.grad(found, vectors, by_sums)
    finally:
        torch.set_num_threads(before)
    wanted = torch.zeros(15, 7, dtype=dtype).index_add_(0, rows, vectors.detach()[columns])
    torch.testing.assert_close(found.detach(), wanted)
    assert not found[4].any()
    back = torch.zeros(9, 7, dtype=dtype).index_add_(0, columns, by_sums[rows])
    torch.testing.assert_close(gradient, back)
    assert not gradient[2].any()


def test_no_ones_at_all() -> None:
    none = torch.empty(0, dtype=torch.long)
    vectors = torch.ones(3, 2, requires_grad=True)
    found = sums(Incidence.of(none, none, (4, 3)), vectors)
    assert torch.equal(found, torch.zeros(4, 2))
    assert torch.equal(torch.autograd.grad(found.sum(), vectors)[0], torch.zeros(3, 2))

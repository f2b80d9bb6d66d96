"""Rows of a table against plain torch, and their sparse gradient against autograd's."""

from __future__ import annotations

import pytest
import torch

from hale.engine import rows

pytestmark = pytest.mark.usefixtures("engine")


def test_a_look_up_by_hand() -> None:
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    some, others = rows.look_up(table, torch.tensor([2, 0, 2]), torch.tensor([0]))
    assert some.tolist() == [[5.0, 6.0], [1.0, 2.0], [5.0, 6.0]]
    assert others.tolist() == [[1.0, 2.0]]
    weights = torch.tensor([[1.0], [10.0], [100.0]])
    ((some * weights).sum() + 1000 * others.sum()).backward()
    gradient = table.grad
    assert gradient is not None
    assert gradient.is_sparse
    ids, found = rows.touched(gradient)
    assert ids.tolist() == [0, 2], "each touched row once, ascending"
    assert found.tolist() == [[1010.0, 1010.0], [101.0, 101.0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("count", "dim", "sizes"), [(5, 1, (3,)), (3000, 33, (700, 40, 1, 900))])
def test_sums_of_rows_are_those_of_torch(
    count: int, dim: int, sizes: tuple[int, ...], dtype: torch.dtype
) -> None:
    draws = torch.Generator().manual_seed(count)
    ids = [torch.randint(count, (size,), generator=draws) for size in sizes]
    parts = [torch.randn(size, dim, generator=draws, dtype=dtype) for size in sizes]
    found = rows.sum_rows(ids, parts, count)
    expected = torch.zeros(count, dim, dtype=torch.float64)
    for some, part in zip(ids, parts, strict=True):
        expected.index_add_(0, some, part.double())
    torch.testing.assert_close(found.to_dense().double(), expected, rtol=1e-5, atol=1e-5)
    assert found.indices().tolist() == [torch.cat(ids).unique().tolist()]


def test_ids_of_many_digits_are_sorted_too() -> None:
    """Beyond the eleven bits that are sorted at once, twice over."""
    ids = torch.tensor([2**31 + 5, 7, 2**25, 2**11, 2**31 + 4, 7])
    found = rows.sum_rows([ids], [torch.arange(6.0)[:, None]], 2**31 + 6)
    assert found.indices().tolist() == [[7, 2**11, 2**25, 2**31 + 4, 2**31 + 5]]
    assert found.values().squeeze(1).tolist() == [6.0, 3.0, 2.0, 4.0, 0.0]


def test_two_look_ups_of_one_table_add_up() -> None:
    table = torch.zeros(4, 2, requires_grad=True)
    (first,) = rows.look_up(table, torch.tensor([3, 1]))
    (second,) = rows.look_up(table, torch.tensor([1]))
    (first.sum() + 5 * second.sum()).backward(retain_graph=True)
    assert table.grad is not None
    ids, found = rows.touched(table.grad)
    assert (ids.tolist(), found.tolist()) == ([1, 3], [[6, 6], [1, 1]])
    table.sum().backward()
    assert table.grad.to_dense().tolist() == [[1, 1], [7, 7], [1, 1], [2, 2]]


def test_no_rows_at_all() -> None:
    table = torch.ones(3, 2, requires_grad=True)
    none, one = rows.look_up(table, torch.empty(0, dtype=torch.long), torch.tensor([1]))
    assert none.shape == (0, 2)
    (none.sum() + one.sum()).backward()
    assert table.grad is not None
    assert table.grad.to_dense().tolist() == [[0, 0], [1, 1], [0, 0]]


@pytest.mark.parametrize("bad", [[0, 3], [-1, 0]])
def test_ids_outside_the_table_are_refused(bad: list[int]) -> None:
    with pytest.raises(IndexError):
        rows.look_up(torch.zeros(3, 2), torch.tensor(bad))


def test_a_column_of_a_batch_is_read_as_it_lies() -> None:
    """The heads of triples are every third number."""
    triples = torch.arange(300).view(100, 3) % 50
    table = torch.randn(50, 8)
    (found,) = rows.look_up(table, triples[:, 0])
    assert torch.equal(found, table[triples[:, 0]])

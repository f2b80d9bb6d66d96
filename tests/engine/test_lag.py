from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from hale.engine.lag import REACH, Lag
from hale.models.tables import Table

ENGINES = pytest.mark.parametrize("engine", ["auto", "tiles"])


def tables(count: int = 6, dim: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    draws = torch.Generator().manual_seed(0)
    table, means = (torch.randn(count, dim, generator=draws) for _ in range(2))
    return table, means, torch.rand(count, dim, generator=draws) + 0.5


def walked(table: Tensor, means: Tensor, squares: Tensor, rates: list[float]) -> Tensor:
    """Where Adam without gradients takes rows, step by step, in plain scalars' order."""
    table, means, squares = (x.double().clone() for x in (table, means, squares))
    for rate in rates:
        means *= 0.9
        squares *= 0.999
        table -= rate * means / (squares.sqrt() + 1e-8)
    return table.float()


@ENGINES
def test_rows_catch_up_with_the_steps_they_missed(
    engine: str, choose_engine: Callable[[str], None]
) -> None:
    """Row 0 misses all of seven steps, row 1 the last three: what step 4 did to it is not ours."""
    choose_engine(engine)
    table, means, squares = tables()
    rates = [0.1, 0.2, 0.05, 0.3, 0.1, 0.02, 0.4]
    expected = walked(table, means, squares, rates)
    later = walked(table, means, squares, rates[4:])
    lag = Lag(table, means, squares)
    for number, rate in enumerate(rates):
        lag.stepped(rate)
        if number == 3:
            lag.last[1] = 4  # as whoever moves a row notes it
    before = table.clone()
    lag.settle(torch.tensor([1, 0, 1]), torch.tensor([0]))
    torch.testing.assert_close(table[0], expected[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(table[1], later[1], rtol=1e-5, atol=1e-6)
    assert torch.equal(table[2:], before[2:]), "not read"
    torch.testing.assert_close(means[0], tables()[1][0] * 0.9**7)
    torch.testing.assert_close(squares[0], tables()[2][0] * 0.999**7)
    lag.settle_all()
    torch.testing.assert_close(table[2:], expected[2:], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(table[1], later[1], rtol=1e-5, atol=1e-6)
    assert (lag.step, lag.due.tolist(), lag.last.tolist()) == (0, [0.0], [0] * 6)


@ENGINES
def test_after_many_steps_nothing_is_left_to_go(
    engine: str, choose_engine: Callable[[str], None]
) -> None:
    """The sum of a geometric series, q / (1 - q) with q = .9 / sqrt(.999)."""
    choose_engine(engine)
    table, means, squares = tables(1)
    start, way = table.clone(), means / squares.sqrt()
    lag = Lag(table, means, squares)
    for _ in range(10 * REACH):
        lag.stepped(0.01)
    lag.settle_all()
    q = 0.9 / 0.999**0.5
    torch.testing.assert_close(start - table, 0.01 * way * q / (1 - q), rtol=1e-4, atol=1e-6)
    assert means.abs().max() < 1e-30


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_rows_that_are_named_twice_move_once(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        table, means, squares = tables(500)
        expected = walked(table, means, squares, [0.1, 0.1])
        lag = Lag(table, means, squares)
        lag.stepped(0.1)
        lag.stepped(0.1)
        lag.settle(torch.arange(500).repeat(20))
        torch.testing.assert_close(table, expected, rtol=1e-5, atol=1e-6)
    finally:
        torch.set_num_threads(before)


def test_a_lag_is_put_where_another_was() -> None:
    one, other = Lag(*tables()), Lag(*tables())
    for _ in range(3000):  # more than there was room for at first
        one.stepped(0.01)
    one.last[2] = 2999
    other.put(one.last.clone(), one.due.clone())
    for lag in (one, other):
        lag.stepped(0.5)
        lag.settle_all()
    assert torch.equal(one.table, other.table)


def test_a_table_does_not_keep_what_it_follows_alive() -> None:
    table = Table(6, 4)
    torch.nn.init.zeros_(table.weight)
    ones = torch.ones(6, 4)
    lag = Lag(table.weight.detach(), ones.clone(), ones.clone())
    table.follow(lag.settle)
    lag.stepped(1.0)
    assert table(torch.tensor([3]))[0].max().item() == pytest.approx(-0.9 / 0.999**0.5)
    assert table.weight[0].max().item() == 0.0
    del lag
    gc.collect()
    assert table(torch.tensor([0]))[0].max().item() == 0.0

from __future__ import annotations

import torch

from hale.engine.randomness import ROWS_AT_ONCE, Stream, draw_rows, seeded


def rows(count: int, first: int = 0, seed: int = 0) -> torch.Tensor:
    table = torch.empty(count, 3)
    with seeded(seed, Stream.INIT):
        draw_rows(table, 0.1, first)
    return table


def test_a_row_depends_on_its_number_and_the_seed_alone() -> None:
    whole = rows(2 * ROWS_AT_ONCE + 100)
    for first, count in ((0, 7), (5, 20), (ROWS_AT_ONCE - 3, 10), (2 * ROWS_AT_ONCE + 50, 50)):
        assert torch.equal(rows(count, first), whole[first : first + count])
    assert not torch.equal(rows(7, seed=1), whole[:7])


def test_rows_are_normal_and_none_is_drawn_twice() -> None:
    whole = rows(2 * ROWS_AT_ONCE)
    assert abs(whole.std().item() - 0.1) < 0.003
    assert abs(whole.mean().item()) < 0.003
    assert len(torch.unique(whole[:, 0])) > 0.99 * len(whole)


def test_what_follows_does_not_depend_on_how_many_were_drawn() -> None:
    after = []
    for count in (3, 50):
        with seeded(0, Stream.INIT):
            draw_rows(torch.empty(count, 2), 1.0)
            after.append(torch.rand(4))
    assert torch.equal(*after)


def test_a_table_without_memory_draws_nothing() -> None:
    before = torch.get_rng_state()
    draw_rows(torch.empty(5, 2, device="meta"), 1.0)
    assert torch.equal(torch.get_rng_state(), before)

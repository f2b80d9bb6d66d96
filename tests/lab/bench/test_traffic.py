"""What a rank sends in a step, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hale.lab.bench.rank_step import Asked, rank_row
from hale.lab.bench.traffic import Step, bytes_a_step, most_drawn

STEP = Step(batch=8, row=3, queries=4, asked=5, columns=6, runs=2, shared=10, tensors=7)


def test_alone_nothing_is_sent() -> None:
    assert sum(bytes_a_step(STEP, 1).values()) == 0


def test_two_ranks_by_hand() -> None:
    """16 rows of 12 bytes, there and back, a quarter by each rank to the other; half of a ring."""
    found = bytes_a_step(STEP, 2)
    assert found["all_to_all"] == 2 * 16 * 12 / 4
    assert found["all_reduce"] == 4 * (6 * 12 + 2) + 10 * 12 + 7 + 3 * 8
    # the most of four draws between two: 4, 3, 2 with 2/16, 8/16, 6/16
    most = (4 * 2 + 3 * 8 + 2 * 6) / 16
    assert most_drawn(4, 2) == pytest.approx(most, rel=0.03)
    assert found["all_gather"] == pytest.approx(4 * (5 * most + 8), rel=0.03)


def test_what_is_small_goes_to_all_at_once() -> None:
    """Of 24,000 bytes a rank of four sends three quarters twice; of 60 and 24 all, three times."""
    step = replace(STEP, queries=100, columns=20, runs=1, shared=5, tensors=0)
    found = bytes_a_step(step, 4)["all_reduce"]
    assert found == 24_000 * 3 / 4 * 2 + 100 * 3 + (60 + 24) * 3
    assert bytes_a_step(step, 3)["all_reduce"] == (24_000 + 100 + 60 + 24) * 2  # under 65,536


def test_no_more_ranks_draw_than_there_are_pieces() -> None:
    assert most_drawn(1600, 64) == most_drawn(1600, 16)


def test_two_ranks_send_what_the_formula_says() -> None:
    """Counted in two processes; a small step has as many rounds as a large one."""
    row = rank_row(2, Asked(entities=300, dim=8, batch=64, queries=20, block="80", steps=6))
    assert row["rounds"] == 5
    assert row["sent_bytes"] == pytest.approx(row["formula_bytes"], rel=0.1)
    assert row["sent"]["all_reduce"] == pytest.approx(row["formula"]["all_reduce"], rel=0.01)
    assert row["rows"] == 150
    assert row["memory_mb"] > 10  # torch alone takes more

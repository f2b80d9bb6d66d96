"""What a rank sends in a step, by hand."""

from __future__ import annotations

import pytest

from hale.lab.bench.traffic import Step, bytes_a_step, hops, most_drawn

STEP = Step(batch=8, row=3, queries=4, asked=5, columns=6, runs=2, shared=10, tensors=7)


def test_alone_nothing_is_sent() -> None:
    assert sum(bytes_a_step(STEP, 1).values()) == 0
    assert hops({"all_reduce": 5.0}, 1) == 0


def test_two_ranks_by_hand() -> None:
    """16 rows of 12 bytes, there and back, a quarter by each rank to the other; half of a ring."""
    found = bytes_a_step(STEP, 2)
    assert found["all_to_all"] == 2 * 16 * 12 / 4
    assert found["all_reduce"] == 4 * (6 * 8 + 2 * 4) + 10 * 8 + 7 * 4
    # the most of four draws between two: 4, 3, 2 with 2/16, 8/16, 6/16
    most = (4 * 2 + 3 * 8 + 2 * 6) / 16
    assert most_drawn(4, 2) == pytest.approx(most, rel=0.03)
    assert found["all_gather"] == pytest.approx(4 * (5 * most + 8), rel=0.03)


def test_a_rank_waits_for_rings() -> None:
    assert hops({"all_to_all": 2.0, "all_gather": 1.0, "all_reduce": 4.0}, 4) == (2 + 1 + 8) * 3


def test_no_more_ranks_draw_than_there_are_pieces() -> None:
    assert most_drawn(1600, 64) == most_drawn(1600, 16)

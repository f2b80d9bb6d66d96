from __future__ import annotations

import pytest
import torch

from hale.training.pace import Pace


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which a test sets."""
    time = [0.0]
    monkeypatch.setattr("hale.training.pace.time.perf_counter", lambda: time[0])
    return time


def test_alone_a_step_takes_what_it_takes(now: list[float]) -> None:
    pace = Pace()
    now[0] = 5.0  # before it begins nothing counts
    pace.begin()
    now[0] = 5.25
    pace.end()
    assert (pace.seconds, pace.stop, pace.save) == (0.25, False, False)


def test_what_follows_the_last_collective_counts_in_the_next_step(now: list[float]) -> None:
    pace = Pace()
    pace.begin()
    now[0] = 1.0
    pace.hear(pace.say())
    now[0] = 1.5
    pace.end()
    assert pace.seconds == 1.0
    now[0] = 9.0  # validation
    pace.begin()
    now[0] = 10.0
    pace.hear(pace.say())
    assert pace.seconds == 1.5


def test_rank_0_keeps_time_and_says_when_to_save_and_any_may_stop(now: list[float]) -> None:
    first, second = Pace(), Pace(leads=False)
    for one in (first, second):
        one.begin()
    second.told_to_stop = second.due = lambda: True
    now[0] = 2.0
    said = first.say() + second.say()
    assert said.tolist() == [2_000_000_000, 1, 0]
    first.hear(said)
    first.end()
    assert (first.seconds, first.stop, first.save) == (2.0, True, False)
    first.begin()
    first.due = lambda: True
    first.hear(first.say() + torch.zeros(3, dtype=torch.int64))
    first.end()
    assert (first.stop, first.save) == (False, True)

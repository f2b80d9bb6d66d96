"""Ranking part by part: all, some, or what there is time for."""

from __future__ import annotations

import numpy as np
import pytest

from hale.evaluation.gradual import rank_gradually, ranking_seconds
from hale.settings import make_settings

TRIPLES = np.arange(3000)[:, None] * np.ones(3, dtype=np.int64)


class Clock:
    """Ranks triples as 1 + their number, tails' and then as much more heads', a second each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.sizes: list[int] = []
        monkeypatch.setattr("hale.evaluation.gradual.time.perf_counter", lambda: self.now)

    def rank(self, triples: np.ndarray) -> np.ndarray:
        self.now += len(triples)
        self.sizes.append(len(triples))
        return np.concatenate([triples[:, 0] + 1.0, triples[:, 0] + 10_001.0])


def test_all_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, seen = Clock(monkeypatch), list[tuple[int, int]]()
    found = rank_gradually(clock.rank, TRIPLES, follow=lambda *done: seen.append(done))
    assert found.places.tolist() == list(range(3000))
    assert found.ranks.tolist() == [*range(1, 3001), *range(10_001, 13_001)]
    assert seen == [(2048, 3000), (3000, 3000)]


def test_as_many_as_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """128 first, then all that 900 s are enough for; ranks stay with their triples."""
    clock = Clock(monkeypatch)
    places, ranks = rank_gradually(clock.rank, TRIPLES, seconds=900)
    assert clock.sizes == [128, 772]
    assert len(places) == 900
    assert (np.diff(places) > 0).all()
    assert ranks.tolist() == [*(places + 1.0), *(places + 10_001.0)]
    assert places.max() > 2500, "drawn from all of them"


def test_a_little_is_ranked_however_short_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    assert len(rank_gradually(clock.rank, TRIPLES, seconds=1).places) == 500
    assert len(rank_gradually(clock.rank, TRIPLES[:300], seconds=1).places) == 300
    assert len(rank_gradually(clock.rank, TRIPLES[:0], seconds=1).places) == 0
    assert len(rank_gradually(clock.rank, TRIPLES, most=7).places) == 7


def test_a_tenth_of_the_budget() -> None:
    assert ranking_seconds(make_settings(budget=60)) == 6
    assert ranking_seconds(make_settings(budget=3)) == 2
    assert ranking_seconds(make_settings(epochs=3)) is None


def test_ranks_of_a_group_go_by_one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took the one that leads ten times as long, so only what is ranked in any case is."""
    clock = Clock(monkeypatch)
    found = rank_gradually(clock.rank, TRIPLES, seconds=900, agreed=lambda taken: 10 * taken)
    assert clock.sizes == [128, 372]
    assert len(found.places) == 500

"""The cost model, on times that were made by it."""

from __future__ import annotations

import pytest

from hale.lab.bench.rank_costs import Costs, Observed, fit_costs


def seen(ranks: int, seconds: float = 0.0) -> Observed:
    return Observed(
        ranks=ranks,
        cores=2,
        rounds=10.0 if ranks > 1 else 0.0,
        latency=1e-3,
        sent=1e4 * ranks,
        bandwidth=1e8,
        seconds=seconds,
    )


def test_by_hand() -> None:
    """4 ranks on 2 cores: C / 2, then 10 rounds of 1 ms, of a, and of two turns of three messages.

    40 KB at 100 MB/s are 0.4 ms.
    """
    costs = Costs(computing=0.02, round=0.003, message=5e-4)
    rounds = 10 * (1e-3 + 0.003 + 2 * 3 * 5e-4)
    assert costs.step(seen(4)) == pytest.approx(0.01 + rounds + 4e-4)
    assert costs.step(seen(1)) == pytest.approx(0.02 + 1e-4)


def test_what_made_the_times_is_found() -> None:
    costs = Costs(computing=0.02, round=0.002, message=2e-4)
    found = fit_costs([seen(ranks, costs.step(seen(ranks))) for ranks in (1, 2, 4, 8)])
    assert found.computing == pytest.approx(costs.computing)
    assert found.round == pytest.approx(costs.round)
    assert found.message == pytest.approx(costs.message)


def test_no_cost_is_negative() -> None:
    """Times below C / 2 and what the line takes: messages are then free, not a gain."""
    found = fit_costs([seen(1, 0.02), seen(2, 0.019), seen(4, 0.019), seen(8, 0.018)])
    assert found.computing > 0
    assert found.round == 0
    assert found.message == 0

from __future__ import annotations

import math
from typing import Any

import pytest

from hale.data.graph import Graph
from hale.errors import HaleWarning
from hale.runs.systems import complete
from hale.settings import Settings, make_settings
from hale.training import forecast as module
from hale.training.forecast import Forecast, forecast, rounded, suited


def told(settings: Settings, step_seconds: float = 0.01, steps_per_epoch: int = 100) -> Forecast:
    return Forecast(settings, step_seconds, steps_per_epoch, memory_mb=1.0)


def test_epochs_and_time_by_hand() -> None:
    """An epoch is 100 steps of 10 ms, one second."""
    found = told(make_settings(budget=25))
    assert (found.epoch_seconds, found.epochs, found.seconds) == (1.0, 25.0, 25.0)
    assert found.validation_seconds == pytest.approx(5.0)
    assert found.short is None
    both = told(make_settings(budget=25, epochs=7))
    assert (both.epochs, both.seconds) == (7.0, 7.0)
    assert told(make_settings(epochs=3)).validation_seconds is None
    assert math.isinf(told(make_settings(patience=2)).epochs)


def test_a_short_budget_is_told_with_one_that_would_do() -> None:
    found = told(make_settings(budget=25), steps_per_epoch=1000)  # 10 s an epoch
    assert found.epochs == 2.5
    assert found.short is not None
    assert "25 s make about 2.5 epochs" in found.short
    assert "--budget 100s" in found.short
    assert told(make_settings(epochs=2), steps_per_epoch=1000).short is None, "as asked for"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "5s"), (11, "15s"), (120, "120s"), (121, "3m"), (7200, "120m"), (7300, "3h")],
)
def test_times_as_a_person_gives_them(seconds: float, text: str) -> None:
    assert rounded(seconds) == text


def test_the_rule_is_told_how_many_epochs_the_time_allows(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def timed(_: Graph, settings: Settings) -> Forecast:
        asked.append(settings)
        return told(settings, step_seconds=1.0, steps_per_epoch=15)

    monkeypatch.setattr(module, "_timed", timed)
    with pytest.warns(HaleWarning, match="30 s make about 2.0 epochs"):
        settings = suited(graph, {"budget": 30.0})
    assert asked[0] == complete(graph, budget=30.0)
    assert settings == complete(graph, 2.0, budget=30.0)


@pytest.mark.parametrize(
    "given", [{"epochs": 2}, {"budget": 30.0, "recipe": "none"}, {"patience": 3}], ids=str
)
def test_nothing_is_timed_where_the_rule_does_not_follow_the_clock(
    graph: Graph, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_timed", None)
    assert suited(graph, given) == complete(graph, **given)


def test_a_plan_times_steps_and_trains_nothing(graph: Graph) -> None:
    found = forecast(graph, {"epochs": 3, "dim": 8})
    assert found.settings == complete(graph, epochs=3, dim=8)
    assert found.step_seconds > 0
    assert found.epochs == 3
    assert found.steps_per_epoch == math.ceil(2 * len(graph.train) / found.settings.batch_size)
    assert found.memory_mb > 10

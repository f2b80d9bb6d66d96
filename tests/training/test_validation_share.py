"""A fifth of the budget: what gives way, by clocks that are not real."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hale.errors import HaleWarning
from hale.evaluation.validation import Validation
from hale.settings import make_settings
from hale.training.start import train
from hale.training.stopping import Clock, StopRule
from hale.training.trainer import Trainer
from hale.training.validation_share import LEAST, Plan, ValidationShare, plan
from tests.conftest import ring
from tests.evaluation.test_evaluator import Fixed

SECOND = 8  # what the second look costs at most, in samples


def eight(_sample: int) -> float:
    return SECOND


def nothing(_sample: int) -> float:
    return 0


class Measured:
    """So many seconds a triple; notes what it is asked."""

    def __init__(self, each: float) -> None:
        self.each = each
        self.asked: list[int] = []

    def __call__(self, count: int) -> float:
        self.asked.append(count)
        return count * self.each


def total(found: Plan, each: float, looks: float, measured: Measured) -> float:
    ranked = (found.validations + looks) * found.sample + sum(measured.asked)
    return ranked * each


def test_what_is_fast_enough_stays_as_it_is() -> None:
    measured = Measured(1e-6)
    assert plan(measured, nothing, 3000, 1.0) == Plan(3000, 10)
    assert measured.asked == [16, 64, 256, 1024, 3000], "until the time tells"
    assert plan(Measured(1e-9), nothing, 5, 1.0) == Plan(5, 10)


@pytest.mark.parametrize("each", [3e-4, 1e-3, 4e-3])
def test_the_sample_shrinks_until_it_fits(each: float) -> None:
    measured = Measured(each)
    found = plan(measured, eight, 2500, 10.0)
    assert found.validations == 10
    assert LEAST <= found.sample < 2500
    assert total(found, each, SECOND, measured) <= 10.0
    one_more = Plan(found.sample + 1, 10)
    assert total(one_more, each, SECOND, measured) > 10.0, "no smaller than need be"
    assert sum(measured.asked) * each <= 0.15 * 10.0, "measuring takes little of it"


@pytest.mark.parametrize("each", [6e-3, 7e-3, 9e-3])
def test_of_the_smallest_sample_there_are_fewer_validations(each: float) -> None:
    measured = Measured(each)
    found = plan(measured, eight, 2500, 10.0)
    assert found.sample == LEAST
    assert 1 <= found.validations < 10
    if found.validations > 1:
        assert total(found, each, SECOND, measured) <= 10.0
    assert total(Plan(LEAST, found.validations + 1), each, SECOND, measured) > 10.0


def test_one_validation_is_always_made() -> None:
    assert plan(Measured(1.0), eight, 2500, 10.0) == Plan(LEAST, 1)
    assert plan(Measured(1.0), nothing, 7, 10.0) == Plan(7, 1), "there are no more"


def test_one_slow_look_does_not_settle_a_run() -> None:
    """The first 16 take 2 s, as if the machine had been away; 16 again take what they do."""
    asked: list[int] = []

    def held_up(count: int) -> float:
        asked.append(count)
        return 2.0 if len(asked) == 1 else count * 1e-4

    assert plan(held_up, nothing, 500, 10.0) == Plan(500, 10)
    assert asked == [16, 16, 64, 256, 500]
    slow = Measured(0.02)
    plan(slow, nothing, 500, 10.0)
    assert slow.asked == [16] * 3, "what is slow each time is, and is asked no oftener"
    slow = Measured(0.25)
    plan(slow, nothing, 500, 10.0)
    assert slow.asked == [16], "measuring takes half at most"


def share_of(
    seconds: Callable[[int], float], **values: object
) -> tuple[ValidationShare, Validation, StopRule]:
    graph = ring(700, held_out=300)
    validation = Validation(graph)
    settings = make_settings(**values)
    rule = StopRule(settings, 5)
    share = ValidationShare(settings, validation, rule)
    validation.seconds_for = lambda _model, count: seconds(count)  # type: ignore[method-assign, assignment]
    return share, validation, rule


def test_a_run_says_once_what_it_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 s give 20, of which 16 are planned; 300 triples at 8 ms, ten times, take 24."""
    monkeypatch.setattr("time.perf_counter", iter([5.0, 7.0, 8.0]).__next__)
    share, validation, rule = share_of(Measured(0.008), budget=100)
    clock, model = Clock(), Fixed(np.zeros((1, 1)))  # type: ignore[arg-type]
    with pytest.warns(HaleWarning, match="ranks 1.. of 300 triples, so that .* fifth of the"):
        share.settle(model, clock)
    assert LEAST < clock.validation_sample < 200
    assert validation.size == clock.validation_sample
    assert (clock.validations, rule.every_seconds) == (10, 10.0)
    assert clock.validation_seconds == 3.0, "measuring counts"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        share.settle(model, clock)  # a clock that would end is not asked again
    again, resumed, _ = share_of(Measured(99.0), budget=100)
    again.apply(clock)
    again.settle(model, clock)
    assert np.array_equal(resumed.sample, validation.sample), "a resumed run goes on with it"


def test_fewer_validations_are_spread_over_the_budget() -> None:
    share, _, rule = share_of(Measured(0.04), budget=100)
    clock, model = Clock(seconds=10), Fixed(np.zeros((1, 1)))  # type: ignore[arg-type]
    assert rule.is_due(clock), "a tenth of the budget"
    with pytest.warns(HaleWarning, match="ranks 100 of 300 triples, 1 times"):
        share.settle(model, clock)
    assert not rule.is_due(clock)
    assert not rule.is_due(Clock(seconds=99))


@pytest.mark.parametrize(
    "values",
    [
        {"epochs": 5},
        {"patience": 5},
        {"budget": 1, "validation_sample": 200},
        {"budget": 1, "validate_every": "1s"},
    ],
)
def test_without_a_budget_or_when_asked_nothing_is_measured(values: dict[str, object]) -> None:
    measured = Measured(99.0)
    share, validation, _ = share_of(measured, **values)
    clock = Clock()
    share.settle(Fixed(np.zeros((1, 1))), clock)  # type: ignore[arg-type]
    assert (measured.asked, clock) == ([], Clock())
    assert validation.size == 300


FAST = {"dim": 8, "batch_size": 200, "queries": 8, "threads": 1}


class Clockwork:
    """A clock by which a step takes 0.1 s and the ranking of a triple, both ways, ``each``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, each: float) -> None:
        self.now, self.each = 0.0, each
        self.ranked: list[int] = []
        step = Trainer._step

        def stepping(trainer: Trainer) -> object:
            self.now += 0.1
            return step(trainer)

        def ranking(_model: object, triples: np.ndarray, _known: object) -> object:  # type: ignore[type-arg]
            self.now += self.each * len(triples) / 2
            self.ranked.append(len(triples) // 2)
            return np.ones(len(triples))

        monkeypatch.setattr(Trainer, "_step", stepping)
        monkeypatch.setattr("hale.evaluation.validation.filtered_ranks", ranking)
        monkeypatch.setattr("time.perf_counter", lambda: self.now)


@pytest.mark.parametrize("each", [1e-5, 2e-3, 5e-3, 0.05])
def test_all_validations_of_a_run_take_a_fifth_of_its_budget(
    each: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork = Clockwork(monkeypatch, each)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HaleWarning)
        run = train(ring(700, held_out=300), budget=60, **FAST)
    assert run.summary.validation_seconds == pytest.approx(each * sum(clockwork.ranked))
    assert run.summary.validation_seconds <= 0.2 * 60
    assert run.history[0].seconds >= 6 - 1e-9, "not before a tenth"
    assert {record.metrics["count"] for record in run.history} == {
        2 * run.summary.validation_sample
    }
    assert run.history[-1].seconds == run.summary.seconds, "the end is always looked at"
    expected = {1e-5: (300, 10), 2e-3: (300, 10), 5e-3: (None, 10), 0.05: (100, 1)}
    sample, validations = expected[each]
    assert len(run.history) == validations
    assert sample is None or run.summary.validation_sample == sample


def test_a_run_that_is_resumed_keeps_its_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork = Clockwork(monkeypatch, 6e-3)
    stop = Trainer._validate
    done: list[int] = []

    class KilledError(Exception):
        pass

    def validating(trainer: Trainer) -> None:
        stop(trainer)
        done.append(trainer.validation.size)
        if len(done) == 3:
            raise KilledError

    monkeypatch.setattr(Trainer, "_validate", validating)
    out = tmp_path / "run"
    with pytest.raises(KilledError), pytest.warns(HaleWarning, match="of 300 triples"):
        train(ring(700, held_out=300), out=out, budget=60, **FAST)
    clockwork.each = 1e-6  # a faster machine
    run = train(None, out=out, resume=True)
    assert len(set(done)) == 1
    assert run.summary.validation_sample == done[0] < 300

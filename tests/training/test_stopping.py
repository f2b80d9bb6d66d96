from __future__ import annotations

import pytest

from hale.settings import make_settings
from hale.training.stopping import Clock, StopRule


def test_budget() -> None:
    rule = StopRule(make_settings(budget=100, decay=0.4), steps_per_epoch=10)
    assert rule.progress(Clock(seconds=25)) == 0.25
    assert rule.reason(Clock(seconds=99.9)) is None
    assert rule.reason(Clock(seconds=100)) == "budget"
    # constant until 60 s, then linearly to zero
    rates = [rule.rate(Clock(seconds=s)) for s in (0, 60, 70, 80, 100)]
    assert rates == pytest.approx([1, 1, 0.75, 0.5, 0])
    assert not rule.is_due(Clock(seconds=9.9))
    assert rule.is_due(Clock(seconds=10))  # a tenth of the budget
    assert not rule.is_due(Clock(seconds=19, validated_seconds=10))


def test_epochs() -> None:
    rule = StopRule(make_settings(epochs=20, decay=0.5), steps_per_epoch=10)
    assert rule.progress(Clock(step=50)) == 0.25
    assert rule.rate(Clock(step=150)) == pytest.approx(0.5)
    assert rule.reason(Clock(step=199)) is None
    assert rule.reason(Clock(step=200)) == "epochs"
    assert not rule.is_due(Clock(step=19))
    assert rule.is_due(Clock(step=20))  # every second epoch


def test_patience_and_its_falling_rate() -> None:
    rule = StopRule(make_settings(patience=4, decay=0.5, validate_every="1"), steps_per_epoch=5)
    clock = Clock()
    rates = []
    for better in (True, False, False, False, True, False):
        rule.judge(clock, better=better)
        rates.append(rule.rate(clock))
    # three validations without a better one use up 3/4 of the patience, and that stays
    assert rates == pytest.approx([1, 1, 1, 0.5, 0.5, 0.5])
    assert rule.reason(clock) is None
    for _ in range(3):
        rule.judge(clock, better=False)
    assert rule.reason(clock) == "patience"


def test_the_nearest_limit_rules() -> None:
    rule = StopRule(make_settings(budget=100, epochs=10), steps_per_epoch=10)
    assert rule.progress(Clock(seconds=10, step=50)) == 0.5
    assert rule.progress(Clock(seconds=80, step=50)) == 0.8
    assert rule.reason(Clock(seconds=10, step=100)) == "epochs"


def test_no_decay() -> None:
    rule = StopRule(make_settings(budget=100, decay=0), steps_per_epoch=10)
    assert rule.rate(Clock(seconds=99)) == 1
    assert rule.rate(Clock(seconds=100)) == 1

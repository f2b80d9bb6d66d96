from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from hale.engine.activations import ACTIVATIONS
from hale.errors import SettingsError
from hale.settings import Interval, Settings, make_settings, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60), ("10m", 600), ("1.5h", 5400), ("45", 45), (12.5, 12.5), (" 2 min ", 120)],
)
def test_durations(text: object, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "10 days", "-5s", "1m30s", True])
def test_bad_durations(text: object) -> None:
    with pytest.raises(ValueError, match="a time looks like"):
        parse_duration(text)


def test_all_faults_are_told_together() -> None:
    with pytest.raises(SettingsError) as caught:
        make_settings(dim=0, gamma=-1, budget="soon", colour="red", optimizer="sgd")
    assert len(caught.value.faults) == 5
    for name in ("dim", "gamma", "budget", "colour", "optimizer"):
        assert any(fault.startswith(name) for fault in caught.value.faults)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_no_setting_is_nan_or_infinite(number: float) -> None:
    """Told as a fault of the settings, also where a text or a list of numbers is given."""
    named = {"model", "strategy", "activation", "encoder", "teacher", "device", "recipe"}
    for name in Settings.model_fields.keys() - named:  # of these any text is taken, and looked up
        for value in (number, str(number), [number] * 3):
            with pytest.raises(SettingsError) as caught:
                make_settings(**{name: value})
            assert caught.value.faults, name


def test_without_a_limit_there_is_a_budget() -> None:
    assert make_settings().budget == 120
    assert make_settings(epochs=3).budget is None
    assert make_settings(patience=3).budget is None
    assert make_settings(budget=None, epochs=None).budget == 120


def test_number_of_queries() -> None:
    assert make_settings().queries == 100
    assert make_settings(batch_size=32).queries == 32
    assert make_settings(alpha=0.05).queries is None
    with pytest.raises(SettingsError, match="give one"):
        make_settings(alpha=0.1, queries=5)
    with pytest.raises(SettingsError, match="at most"):
        make_settings(queries=100, batch_size=10)


def test_a_time_between_validations_needs_a_budget() -> None:
    assert make_settings(budget=10, validate_every="2s").validate_every == "2s"
    with pytest.raises(SettingsError, match="number of epochs"):
        make_settings(epochs=10, validate_every="2s")
    assert make_settings(epochs=10, validate_every=5).validate_every == "5"
    with pytest.raises(SettingsError, match="with its unit"):
        make_settings(budget=10, validate_every="0.5")
    assert Interval.parse("5") == Interval(epochs=5)
    assert Interval.parse("5s") == Interval(seconds=5.0)


def test_settings_are_frozen_and_survive_json() -> None:
    settings = make_settings(budget="10m", alpha=0.1)
    with pytest.raises(ValidationError):
        settings.dim = 5
    assert Settings.model_validate(settings.model_dump(mode="json")) == settings


def test_every_setting_is_described_and_every_choice_named() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
    described = Settings.model_fields["activation"].description or ""
    lacking = set(ACTIVATIONS) - set(re.findall(r"\w+", described))
    assert not lacking, f"the help of activation lacks {lacking}"
    assert "'hale models'" in (Settings.model_fields["model"].description or "")
    assert "'hale strategies'" in (Settings.model_fields["strategy"].description or "")

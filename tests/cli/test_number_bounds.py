"""No option of any command takes nan, infinity or a number of more than 64 bits."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from hale.errors import InputError
from hale.settings import parse_duration
from tests.cli.invoke import hale

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/fuzz"))
declared: Any = importlib.import_module("declared")

WORDS = {int: "1", float: "0.5"}  # of what a command must be given beside
OPTIONS, WHOLE = (
    [
        (command, option)
        for command in declared.commands()
        for option in command.parameters
        if option.kind is kind
    ]
    for kind in (float, int)
)


def test_there_are_such_options() -> None:
    found = {(command.name, option.flags[0]) for command, option in OPTIONS}
    assert {("align", "--least"), ("reproduce", "--scale"), ("train", "--beta")} <= found
    assert {("bench race", "--target"), ("bench ranks", "--latency")} <= found
    found = {(command.name, option.flags[0]) for command, option in WHOLE}
    assert {("find", "-k"), ("train", "--seed"), ("bench kernel", "-m")} <= found


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_every_option_that_is_a_number_is_a_finite_one(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command, option in OPTIONS:
        told = f"{option.flags[0]} takes a finite number, got {value}."
        assert_refused_at(command, option, value, told)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [str(10**40), str(-(10**40)), str(2**63)])
def test_every_whole_number_has_64_bits(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """hale find -k 10000000000000000000000000000000000000000 ended in a traceback of polars."""
    monkeypatch.chdir(tmp_path)
    for command, option in WHOLE:
        told = f"{option.flags[0]} takes a whole number up to 9,223,372,036,854,775,807."
        assert_refused_at(command, option, value, told)
    assert list(tmp_path.iterdir()) == []


def assert_refused_at(command: Any, option: Any, value: str, told: str) -> None:
    """A command that is given an option's value says what the option takes."""
    beside = [one for one in command.parameters if one.required and one.name != option.name]
    given = [word for one in beside for word in (*one.flags[:1], WORDS.get(one.kind, "none-such"))]
    result = hale(*command.path, *given, f"{option.flags[0]}={value}")
    where = f"{command.name} {option.flags[0]}"
    assert result.exit_code == 2, f"{where}: {result.output} {result.exception}"
    bounded = "Invalid value for" in result.stderr  # by typer, where the option has bounds
    assert told in result.stderr.replace("\n", " ") or bounded, f"{where}: {result.stderr}"


def test_bounds_do_not_stand_in_for_it() -> None:
    """Releases of typer that compare nan with bounds by < and > let it through."""
    from hale.cli.align import align
    from hale.cli.number_bounds import check_numbers

    with pytest.raises(InputError, match="^--least takes a finite number, got nan.$"):
        check_numbers(align, {"least": float("nan")})
    check_numbers(align, {"least": 1.0, "rounds": 4, "out_file": None})


def test_a_time_of_more_digits_than_a_float_has() -> None:
    with pytest.raises(ValueError, match=r"a time is at most 1e\+09 seconds, got '9999"):
        parse_duration("9" * 400 + "s")
    assert parse_duration("250000h") == 9e8

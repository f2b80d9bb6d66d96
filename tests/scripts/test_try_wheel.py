"""The trial of a wheel: its commands can be typed, and a step that goes wrong is told."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from tests.docs.test_commands import unknown

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
try_wheel = importlib.import_module("try_wheel")


def fake_hale(environment: Path, text: str) -> None:
    """A program in the place of hale."""
    folder = try_wheel.programs(environment)
    folder.mkdir(parents=True)
    (folder / "hale").write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    (folder / "hale").chmod(0o755)


def test_its_commands_can_be_typed() -> None:
    assert [step for step, _ in try_wheel.STEPS if unknown(step)] == []


def test_an_engine_that_is_not_native_fails(tmp_path: Path) -> None:
    fake_hale(tmp_path / "env", "echo 'engine: tiles'")
    with pytest.raises(
        try_wheel.TrialError, match="'native' is not in what it said:\nengine: tiles"
    ):
        try_wheel.walk(tmp_path / "env", tmp_path)


def test_a_step_that_ends_badly_is_told(tmp_path: Path) -> None:
    fake_hale(tmp_path / "env", "echo native; test $1 = show || { echo broken >&2; exit 3; }")
    with pytest.raises(try_wheel.TrialError, match=r"train wordnet .* status 3:\nnative\nbroken"):
        try_wheel.walk(tmp_path / "env", tmp_path)


def test_nothing_of_the_machine_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALE_NATIVE", "/elsewhere")
    fake_hale(tmp_path / "env", 'echo "$PATH $CC $HALE_NATIVE"; exit 1')
    with pytest.raises(try_wheel.TrialError) as told:
        try_wheel.walk(tmp_path / "env", tmp_path)
    assert str(told.value).splitlines()[-1] == f"{tmp_path / 'env' / 'bin'} /bin/false "

"""hale recipe as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hale.settings.recipes import recipe_files
from tests.cli.invoke import as_json, assert_refused, hale


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_file_is_shown() -> None:
    text = "entities = 24\ntrain = 40\ndim = 6\n[hale.rote]\nfound = 'by hand'\ngamma = 7.5\n"
    Path("mine.toml").write_text(text)
    shown = hale("recipe", "mine.toml").stdout
    assert "found on a graph of 24 entities and 40 training facts, at dim 6" in shown
    assert "hale with rote" in shown
    assert "7.5" in shown
    found = as_json(hale("recipe", "mine.toml", "--json"))
    assert found["settings"] == {"hale with rote": {"found": "by hand", "gamma": 7.5}}


@pytest.mark.parametrize("name", ["paper", *recipe_files()])
def test_those_that_ship_are_shown_and_sound(name: str) -> None:
    assert hale("recipe", name).exit_code == 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[hale.rotl]\nwings = 2", "wings: there is no such setting"),
        ("[hale.rotl]\ngamma = -1", "gamma"),
        ("[hale.rotl.long]\nseconds = 9\ngamma = -1", "gamma"),
        ("[hale.lstm]\ngamma = 2", "Unknown model 'lstm'"),
        ("[best.rotl]\ngamma = 2", "Unknown strategy 'best'"),
        ("[hale.roth]\n", "hale does not take roth"),
    ],
)
def test_a_table_that_no_run_can_be_made_of(table: str, message: str) -> None:
    Path("x.toml").write_text(f"entities = 1\ntrain = 2\n{table}\n")
    assert_refused(["recipe", "x.toml"], message)


def test_no_such_file() -> None:
    assert_refused(["recipe", "none.toml"], "there is no such file")

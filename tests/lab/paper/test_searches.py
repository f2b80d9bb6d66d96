"""Searches of rows, all alike, and where what they find is written."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import hale.lab.paper.searches as module
from hale.data.graph import Graph
from hale.lab.paper import EXPERIMENTS, read_cells
from hale.lab.paper.plan import planned, searches_left, seeds_of, share_of, standing
from hale.lab.paper.searches import Search, run_search, search_of, with_table
from hale.settings.recipes import read_recipe, settings_in


def row(table: str, dataset: str, name: str, group: str | None = None) -> Search | None:
    entries = [
        e
        for e in EXPERIMENTS[table].select((dataset,))
        if e.row == name and group in (None, e.group)
    ]
    return search_of(entries[0].cell)


def test_which_rows_have_a_search_of_their_own() -> None:
    """What takes one part from HaLE keeps its settings; another activation is searched again."""
    names = {
        name: None if (found := row("table5", "wn18rr", name)) is None else found.table
        for name in (
            *("HaLE-RotL", "w/o Activation", "w/o PosSquare", "w/o RelRatio"),
            *("HA + SamNeg", "HA + AllNeg"),
        )
    }
    assert names == {
        "HaLE-RotL": None,  # squared, as the paper's: of HaLE's settings otherwise
        "w/o Activation": "hale.rotl.identity",
        "w/o PosSquare": None,
        "w/o RelRatio": None,
        "HA + SamNeg": "samneg.rotl.hanon",
        "HA + AllNeg": "allneg.rotl.hanon",
    }
    bare = row("table5", "wn18rr", "w/o Activation")
    assert bare is not None
    assert ("square", True) in bare.held, "as the row that it is compared with"
    whole = row("table5", "fb15k-237", "HaLE-RotL")
    assert whole is not None
    assert whole.table == "hale.rotl"
    high = row("table4", "codex-s", "RotE", "SamNeg")
    assert high is not None
    assert high.table == "samneg.rote.d256"
    paper = row("table3", "wn18rr", "RotE", "HaLE as in the paper")
    assert paper is not None
    assert (paper.table, paper.file(Path()).name) == ('"wn18rr".hale.rote', "paper.toml")
    assert all(search_of(e.cell) is not None for e in EXPERIMENTS["table3"].entries)


def test_a_table_is_put_in_or_replaced() -> None:
    text = "entities = 3\n\n[a.b]\nx = 1\n\n[a.b.long]\nx = 2\n"
    once = with_table(text, "c.d", ["y = 5"])
    again = with_table(with_table(once, "a.b", ["x = 7"]), "c.d", ["y = 6"])
    assert tomllib.loads(once)["c"] == {"d": {"y": 5}}
    assert tomllib.loads(again) == {
        "entities": 3,
        "a": {"b": {"x": 7, "long": {"x": 2}}},
        "c": {"d": {"y": 6}},
    }


@pytest.mark.parametrize("recipe", ["auto", "paper"])
def test_a_search_is_written_into_the_recipe(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: str
) -> None:
    monkeypatch.setattr(module, "load_quietly", lambda _: graph)
    monkeypatch.setattr(module, "TRIALS", 3)
    monkeypatch.setattr(module, "TRIAL_SECONDS", {"tiny": 0.2})
    search = Search("tiny", "hale", "transe", 4, recipe)
    monkeypatch.setattr(module, "LOW", 4)
    assert not search.is_done(tmp_path)
    found = run_search(search, work=tmp_path / "runs", folder=tmp_path)
    assert found.trials == 3
    assert search.is_done(tmp_path)
    assert search.record(tmp_path) == (3, 0.2)
    content = read_recipe(search.file(tmp_path))
    tables = content["tiny"] if recipe == "paper" else content
    values = settings_in(tables, "hale", "transe")
    assert values.items() <= {**values, **dict(found.values)}.items()
    if recipe == "paper":
        assert values["alpha"] in (0.05, 0.1, 0.2)
        assert values["gamma"] in (5.0, 10.0, 20.0)
        assert values["learning_rate"] in (0.0005, 0.001, 0.005)
    more = replace(search, dim=8)
    assert not more.is_done(tmp_path), "another dimension has a table of its own"


def test_the_plan() -> None:
    """Shares and seeds as declared; cells that are shared are planned once."""
    cells = planned()
    keys = [cell.key(seed, scale) for cell, seed, scale in cells]
    assert len(keys) == len(set(keys))
    assert {"wn18rr-hale-rotl-32-s2-x1", "codex-s-hale-rote-256-s2-x1"} <= set(keys)
    assert "wn18rr-samneg-rotl-32-s0-x1" in keys
    assert "fb15k-237-advneg-murp-32-s0-x0.25" in keys
    assert not any(key.startswith("codex-l") for key in keys)
    entry = EXPERIMENTS["table4"].select(("codex-m",), ("rote",), ("hale",))[0]
    assert (share_of("table4", entry), seeds_of("table4", entry)) == (1.0, 3)
    rival = EXPERIMENTS["table4"].select(("codex-m",), ("rote",), ("samneg",))[0]
    assert (share_of("table4", rival), seeds_of("table4", rival)) == (0.25, 1)


def test_how_the_plan_stands(tmp_path: Path) -> None:
    stands = standing(read_cells(tmp_path), recipes=tmp_path)
    assert {wanted.state for wanted in stands} == {"missing"}
    assert all(w.seconds == w.cell.seconds * w.scale for w in stands)
    by_key = {wanted.key: wanted for wanted in stands}
    assert not by_key["wn18rr-samneg-rotl-32-s0-x1"].fair
    assert by_key["wn18rr-hale-rotl-no-scale-32-s0-x1"].fair, "it has the settings of another row"
    left = searches_left(tmp_path)
    assert len({search.key for search in left}) == len(left)
    assert {search.strategy for search in left} >= {"hale", "samneg", "allneg", "advneg", "nonneg"}

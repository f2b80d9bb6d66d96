"""Searches of rows, all alike, and where what they find is written."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import hale.lab.paper.run_search as run_module
import hale.lab.paper.searches as module
from hale.data.graph import Graph
from hale.lab.paper import EXPERIMENTS, read_cells
from hale.lab.paper.experiments import BY_AUTHORS
from hale.lab.paper.plan import AVAILABLE, planned, searches_left, seeds_of, shares_of, standing
from hale.lab.paper.run_search import run_search, with_table
from hale.lab.paper.searches import SEARCHED, TRIALS, Search, search_of
from hale.runs.systems import check, complete
from hale.settings.recipes import read_recipe
from hale.training.trainer import Trainer
from hale.training.tune.points import (
    as_settings,
    published_points,
    space_for,
    starting_points,
)


def row(table: str, dataset: str, name: str, group: str | None = None) -> Search | None:
    entries = [
        e
        for e in EXPERIMENTS[table].select((dataset,))
        if e.row == name and group in (None, e.group)
    ]
    return search_of(entries[0].cell)


def test_which_rows_have_a_search_of_their_own() -> None:
    """What takes one part from HaLE moves two of its settings; any other row has its own search."""
    names = {
        name: None if (found := row("table5", "wn18rr", name)) is None else found.table
        for name in (
            *("HaLE-RotL", "w/o Activation", "w/o PosSquare", "w/o RelRatio"),
            *("HA + SamNeg", "HA + AllNeg"),
        )
    }
    assert names == {
        "HaLE-RotL": "hale-rotl-square-32",
        "w/o Activation": "hale-rotl-identity-square-32",
        "w/o PosSquare": "hale-rotl-no-square-32",
        "w/o RelRatio": "hale-rotl-square-no-scale-32",
        "HA + SamNeg": "samneg-rotl-hanon-32",
        "HA + AllNeg": "allneg-rotl-hanon-32",
    }
    bare = row("table5", "wn18rr", "w/o Activation")
    assert bare is not None
    assert ("square", True) in bare.held, "as the row that it is compared with"
    assert bare.whole == row("table5", "wn18rr", "HaLE-RotL")
    assert bare.moves == ("weight", "learning_rate")
    high = row("table4", "codex-s", "RotE", "SamNeg")
    assert high is not None
    assert (high.table, high.file(Path()).name) == ("samneg-rote-256", "codex-s.toml")
    paper = row("table3", "wn18rr", "RotE", "HaLE as in the paper")
    assert paper is not None
    assert (paper.table, paper.file(Path()).name) == ("paper-hale-rote-32", "wn18rr.toml")


def test_what_came_to_the_same_is_not_searched_twice(tmp_path: Path) -> None:
    """A free search that chose the square has what one that holds it looks for, and no other."""
    free = row("table3", "wn18rr", "RotL", "HaLE")
    held = row("table5", "wn18rr", "HaLE-RotL")
    bare = row("table5", "wn18rr", "w/o PosSquare")
    assert free is not None
    assert held is not None
    assert bare is not None
    told = {**free.conditions(tmp_path), "gamma": 7.5}
    path = free.file(tmp_path)
    path.parent.mkdir(parents=True)
    for square in (True, False):
        lines = [f"{k} = {json.dumps(v)}" for k, v in {**told, "square": square}.items()]
        path.write_text("\n".join(["[hale-rotl-32]", *lines]))
        read_recipe.cache_clear()
        assert held.is_done(tmp_path) == square
        assert held.values(tmp_path) == ({"gamma": 7.5} if square else {}) | {"square": True}
        assert not bare.is_done(tmp_path)
    read_recipe.cache_clear()


def test_no_row_of_the_paper_has_settings_that_its_rivals_could_not_have() -> None:
    """All of them by a search, and none by a recipe of hale train; the others by those alone."""
    for name in ("table3", "table4", "table5", "figure3", "figure4"):
        for entry in EXPERIMENTS[name].entries:
            if entry.group == BY_AUTHORS:
                continue
            assert entry.cell.recipe in (SEARCHED, "paper")
            assert search_of(entry.cell) is not None, entry.cell.system
            asked = entry.cell.settings(0, 1.0)
            assert asked["recipe"] in ("none", "paper")
    for name in ("improvements", "best"):
        assert {entry.cell.recipe for entry in EXPERIMENTS[name].entries} == {"auto"}


def test_a_row_without_its_search_has_its_strategys_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HaLE on WN18RR too: neither its recipe, nor the rule, nor what long runs take."""
    monkeypatch.setattr(module, "HOME", tmp_path)
    entry = EXPERIMENTS["table3"].select(("wn18rr",), ("rotl",), ("hale",))[0]
    made = complete(None, **entry.cell.settings(0, 1.0))
    usual = {"recipe": "none", "model": "rotl", "strategy": "hale", "validation_sample": 3034}
    plain = complete(None, **usual, budget=600)
    assert made.model_dump() == plain.model_dump()
    search = search_of(entry.cell)
    assert search is not None
    told = {name: f"{name} = {json.dumps(one)}\n" for name, one in search.conditions().items()}
    lines = "".join(told.values()) + "gamma = 7.5\n"
    search_space = str(search.conditions()["space"])
    for text, gamma, alike in (
        (f"[hale-rotl-32]\nfound = 'so'\nepochs = 3.5\n{lines}", 7.5, True),
        *(
            (f"[hale-rotl-32]\n{lines.replace(line, line.replace('= ', '= 3'))}", 7.5, False)
            for name, line in told.items()
            if name != "space"
        ),
        (f"[hale-rotl-32]\n{lines.replace(search_space, 'another')}", 7.5, False),
        (f"[hale-rotl-256]\n{lines}", plain.gamma, False),
    ):
        search.file().parent.mkdir(parents=True, exist_ok=True)
        search.file().write_text(text)
        read_recipe.cache_clear()
        assert search.is_done() == alike, "a row that keeps its settings is marked"
        made = complete(None, **entry.cell.settings(0, 1.0))
        assert made.gamma == gamma
        assert made.model_copy(update={"gamma": plain.gamma}) == plain
    read_recipe.cache_clear()


@pytest.mark.filterwarnings("ignore::hale.errors.HaleWarning")  # of blocks of ten entities
def test_where_every_search_begins_can_be_trained(graph: Graph) -> None:
    """Each of its starting points goes together, and one with all moved goes a step."""
    searches = {
        (found.strategy, found.model, found.held): found
        for experiment in EXPERIMENTS.values()
        for entry in experiment.entries
        if (found := search_of(entry.cell)) is not None and found.recipe == SEARCHED
    }
    assert len(searches) >= 4 + 5 + 5 + 5 + 5 + 2
    for search in searches.values():
        named = {"strategy": search.strategy, "model": search.model, "dim": 8, "recipe": "none"}
        named |= dict(search.held)
        began = complete(graph, **named)
        held = dict(search.held)
        space = space_for(graph, began)
        first, *steps = starting_points(began, space, 24, fixed=held)
        assert len(steps) >= TRIALS / 2, "enough for a search"
        steps += published_points(began, space, 24, fixed=held)
        last: dict[str, object] = {}
        for step in steps:
            check(complete(graph, **{**as_settings(step), **named}))
            last |= {name: step[name] for name in step if step[name] != first[name]}
        moved = {**as_settings({**first, **last}), **named, "epochs": 1, "batch_size": 64}
        moved |= {"queries": 8} if "queries" in moved else {}
        Trainer(graph, complete(graph, **moved)).fit()


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


@pytest.mark.parametrize("recipe", [SEARCHED, "paper"])
def test_a_search_is_written_down(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: str
) -> None:
    monkeypatch.setattr(run_module, "load_quietly", lambda _: graph)
    monkeypatch.setattr(run_module, "TRIALS", 3)
    monkeypatch.setattr(module, "TRIALS", 3)
    monkeypatch.setattr(module, "TRIAL_SECONDS", {"tiny": 0.2})
    search = Search("tiny", "hale", "transe", 4, recipe)
    assert not search.is_done(tmp_path)
    found = run_search(search, work=tmp_path / "runs", home=tmp_path)
    assert found.trials == 3
    assert search.is_done(tmp_path)
    values, table = search.values(tmp_path), search.found(tmp_path)
    if recipe == "paper":
        assert values["alpha"] in (0.05, 0.1, 0.2)
        assert values["gamma"] in (5.0, 10.0, 20.0)
        assert values["learning_rate"] in (0.0005, 0.001, 0.005)
    assert "transe-4" in table["found"]
    assert table["epochs"] > 0
    assert not values.keys() & {"found", "trials", "trial", "threads", "space", "epochs", "commit"}
    assert values.keys() == found.values.keys()
    more = replace(search, dim=8)
    assert not more.is_done(tmp_path), "another dimension has a table of its own"


def test_a_part_is_searched_after_the_whole(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From its settings, of which two move; and again if the whole is searched again."""
    monkeypatch.setattr(run_module, "load_quietly", lambda _: graph)
    monkeypatch.setattr(run_module, "TRIALS", 3)
    monkeypatch.setattr(module, "TRIALS", 3)
    monkeypatch.setattr(module, "TRIAL_SECONDS", {"tiny": 0.2})
    bare = Search("tiny", "hale", "transe", 4, SEARCHED, (("square", False),), part=True)
    whole = bare.whole
    assert whole is not None
    run_search(bare, work=tmp_path / "runs", home=tmp_path)
    assert whole.is_done(tmp_path)
    assert bare.is_done(tmp_path)
    mine, its = bare.values(tmp_path), whole.values(tmp_path)
    moved = {"weight", "learning_rate"}
    assert {name for name in mine if mine[name] != its.get(name)} <= {"square", *moved}
    path = bare.file(tmp_path)
    path.write_text(path.read_text().replace("queries = ", "queries = 1"))  # of the whole
    read_recipe.cache_clear()
    assert whole.is_done(tmp_path)
    assert not bare.is_done(tmp_path)


def test_the_plan() -> None:
    """Shares and seeds as declared; cells that are shared are planned once."""
    cells = planned()
    keys = [cell.key(seed, scale) for cell, seed, scale in cells]
    assert len(keys) == len(set(keys))
    assert {"wn18rr-hale-rotl-32-s2-x1", "codex-s-hale-rote-256-s2-x1"} <= set(keys)
    assert "wn18rr-samneg-rotl-32-s0-x1" in keys
    assert "fb15k-237-samneg-murp-32-s0-x1" in keys
    assert sum(key.startswith("wikidata-83k") for key in keys) == 3
    assert not any(key.startswith("codex-l") for key in keys)
    for key in ("wn18rr-hale-rotl", "wn18rr-hale-rotl-60s", "fb15k-237-hale-affine"):
        assert {f"{key}-32-auto-s{seed}-x1" for seed in range(3)} <= set(keys), key
    assert "codex-s-allneg-complex-256-auto-s2-x1" in keys
    entry = EXPERIMENTS["table4"].select(("codex-m",), ("rote",), ("hale",))[0]
    assert shares_of("table4", entry) == (1.0, 0.25)
    assert [seeds_of("table4", entry, scale) for scale in (1.0, 0.25)] == [3, 1]
    rival = EXPERIMENTS["table4"].select(("codex-m",), ("rote",), ("samneg",))[0]
    assert (shares_of("table4", rival), seeds_of("table4", rival, 0.25)) == ((0.25,), 1)


def test_every_rival_meets_hale_at_its_share() -> None:
    """With its own model where HaLE has one in the table, as the paired test asks."""
    for name in ("table3", "table4", "table5"):
        entries = [e for e in EXPERIMENTS[name].entries if e.cell.dataset in AVAILABLE]
        has: dict[tuple[str, float], set[object]] = {}
        for entry in entries:
            values = dict(entry.cell.values)
            if values["strategy"] == "hale" and entry.cell.recipe == SEARCHED:
                for scale in shares_of(name, entry):
                    has.setdefault((entry.cell.dataset, scale), set()).add(values["model"])
        whole = {model for models in has.values() for model in models}
        for entry in entries:
            model = dict(entry.cell.values)["model"]
            for scale in shares_of(name, entry):
                met = has[entry.cell.dataset, scale]
                assert model in met or model not in whole, (name, entry.cell.system, scale)


def test_how_the_plan_stands(tmp_path: Path) -> None:
    stands = standing(read_cells(tmp_path), home=tmp_path)
    assert {wanted.state for wanted in stands} == {"missing"}
    assert all(w.seconds == w.cell.seconds * w.scale for w in stands)
    by_key = {wanted.key: wanted for wanted in stands}
    assert not by_key["wn18rr-samneg-rotl-32-s0-x1"].fair
    assert not by_key["wn18rr-hale-rotl-no-scale-32-s0-x1"].fair, "its settings are another row's"
    assert by_key["wn18rr-hale-rotl-32-auto-s0-x1"].fair, "of a recipe, and not compared"
    left = searches_left(tmp_path)
    assert len({search.key for search in left}) == len(left)
    assert {search.strategy for search in left} >= {"hale", "samneg", "allneg", "advneg", "nonneg"}

"""Recipes: found by name and size, read from their files, and the rule for the rest."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hale.data.datasets import CATALOG
from hale.data.graph import Graph, Vocabulary
from hale.engine.activations import ACTIVATIONS
from hale.engine.estimate import spread_bound
from hale.errors import InputError, SettingsError
from hale.models import MODELS
from hale.objectives import OBJECTIVES
from hale.runs.score_kind import recipe_kinds
from hale.runs.systems import check, common, complete
from hale.settings import recipes
from hale.settings.recipes import (
    NO_SETTINGS,
    paper_recipe,
    read_recipe,
    recipe_files,
    recipe_values,
    settings_in,
)
from hale.settings.recipes.rule import GraphCounts, block_for, by_rule
from hale.training.block import blocks_of


def made(facts: int, entities: int, name: str = "mine") -> Graph:
    triples = np.zeros((facts, 3), dtype=np.int64)
    names = Vocabulary([f"e{i}" for i in range(entities)], "entity")
    none = triples[:0]
    return Graph(name, names, Vocabulary(["r"], "relation"), train=triples, valid=none, test=none)


@pytest.mark.parametrize(
    ("facts", "entities", "gamma", "weight", "dropout", "batch"),
    [
        (100_000, 50_000, 6.0, 1.0, 0.0, 4096),  # two facts an entity
        (300_000, 10_000, 10.0, 0.15, 0.1, 4096),  # thirty
        (67_082, 10_000, 8.0, 0.15, 0.05, 4096),  # half way, by the logarithm: sqrt(3 * 15) facts
        # half way for the weight: sqrt(2.5 * 5) facts, a weight of sqrt(1 * 0.15)
        (35_355, 10_000, 6.41, 0.387, 0.01, 4096),
        (800, 400, 6.0, 1.0, 0.0, 100),
    ],
)
def test_the_rule(
    facts: int, entities: int, gamma: float, weight: float, dropout: float, batch: int
) -> None:
    values = by_rule(GraphCounts("mine", entities, facts))
    assert values["weight"] == pytest.approx(weight, abs=0.001)
    assert values["gamma"] == pytest.approx(gamma, abs=0.01)
    assert (values["dropout"], values["dropout_start"]) == (dropout, 0.0)
    assert values["batch_size"] == batch
    assert values["queries"] == min(200, batch)
    assert values["near"] == 0.5


@pytest.mark.parametrize(
    ("facts", "entities", "epochs", "init", "batch", "rate"),
    [
        (100_000, 10_000, None, 0.0333, 4096, 0.01),  # a step may touch all: 4096 + 2 * 4096
        (100_000, 98_304, None, 0.01, 4096, 0.005),  # an eighth of them, so half the rate
        (100_000, 98_304, 60.0, 0.01, 4096, 0.005),
        (100_000, 98_304, 10.0, 0.01, 8192, 0.00707),  # sqrt(2)
        (100_000, 98_304, 3.0, 0.01, 12_500, 0.00873),  # no more: an epoch keeps 16 steps
        (20_000, 98_304, 3.0, 0.01, 2500, 0.005),
        (400_000, 98_304, 0.001, 0.0136, 16_384, 0.01),
        (300_000, 10_000, None, 0.05, 4096, 0.01),  # thirty facts an entity
    ],
)
def test_the_rule_follows_the_time_and_what_a_step_touches(
    facts: int, entities: int, epochs: float | None, init: float, batch: int, rate: float
) -> None:
    values = by_rule(GraphCounts("mine", entities, facts), epochs)
    assert values["init_scale"] == pytest.approx(init, abs=0.0001)
    assert values["batch_size"] == batch
    assert values["learning_rate"] == pytest.approx(rate, abs=0.00001)


@pytest.mark.parametrize(
    ("gamma", "entities", "block"),
    [
        (6.0, 40_943, 4096),
        (6.0, 8191, "all"),  # 4096 would be more than half
        (6.0, 10**7, 4096),
        (10.0, 10**7, 5504),  # sinh(5)^2 = 5506, a little less of a finite number
        (10.0, 14_541, 4096),
        (14.0, 10**6, 231_155),  # sinh(7)^2 = 300,651
        (20.0, 10**6, "all"),
    ],
)
def test_a_block_is_large_enough_for_its_bound(gamma: float, entities: int, block: object) -> None:
    assert block_for(gamma, entities) == block
    if isinstance(block, int):
        assert spread_bound(gamma, entities, block) <= 1
        assert block == 4096 or spread_bound(gamma, entities, block - 1) > 1


def test_the_rule_starts_near_only_what_can(graph: Graph) -> None:
    assert complete(graph, model="rotl").near == 0.5
    assert complete(graph, model="transe").near == 0.0
    with pytest.raises(SettingsError, match="near: the relations of transe"):
        check(complete(graph, model="transe", near=0.5))


def test_what_is_given_goes_before_the_recipe() -> None:
    graph = made(300_000, 10_000)
    assert complete(graph).gamma == 10.0
    assert complete(graph, gamma=9).gamma == 9
    assert complete(graph, recipe="none").gamma == 6.0
    assert complete(graph, alpha=0.1).queries is None
    assert complete(graph, batch_size=20).queries == 20
    assert complete(graph, strategy="samneg").gamma == 6.0, "the rule is HaLE's"


def test_the_papers_recipe() -> None:
    settings = complete(made(300_000, 10_000), recipe="paper", dim=8)
    assert (settings.alpha, settings.queries, settings.leave_out_known) == (0.1, None, False)
    assert settings.decay == 0.0
    for strategy in ("hale", "samneg", "advneg", "allneg", "nonneg"):
        assert paper_recipe(strategy, "rotl")


def test_a_recipe_is_taken_by_name_and_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.toml").write_text(
        "entities = 400\ntrain = 800\n"
        '[hale.any]\nfound = "somehow"\ngamma = 3.5\nbeta = 2.0\n[hale.rotl]\nbeta = 4.0\n'
    )
    monkeypatch.setattr(recipes, "recipe_files", lambda: {"mine": tmp_path / "mine.toml"})
    settings = complete(made(800, 400))
    assert (settings.gamma, settings.beta) == (3.5, 4.0)
    assert complete(made(800, 400), model="rote").beta == 2.0
    assert complete(made(801, 400)).gamma == 6.0, "another graph of that name"
    assert complete(replace(made(800, 400), name="yours")).gamma == 6.0


def test_a_long_run_may_take_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.toml").write_text(
        "entities = 400\ntrain = 800\n"
        '[hale.any]\nfound = "somehow"\nbeta = 2.0\ndropout = 0.2\n'
        '[hale.any.long]\nfound = "otherwise"\nseconds = 300\nbeta = 1.5\ndropout = 0.1\n'
        "[hale.rotl]\ndropout = 0.0\n[hale.rotl.long]\nseconds = 600\ngamma = 7.0\n"
    )
    monkeypatch.setattr(recipes, "recipe_files", lambda: {"mine": tmp_path / "mine.toml"})

    def chosen(model: str, **given: object) -> tuple[float, float, float]:
        settings = complete(made(800, 400), model=model, **given)
        return settings.beta, settings.dropout, settings.gamma

    assert chosen("rote") == chosen("rote", budget="299s") == (2.0, 0.2, 6.0)
    assert chosen("rote", epochs=1000) == (2.0, 0.2, 6.0), "not known how long that takes"
    assert chosen("rote", budget="5m") == (1.5, 0.1, 6.0)
    assert chosen("rotl", budget=300) == (1.5, 0.0, 6.0), "a model's own goes before all's"
    assert chosen("rotl", budget=600) == (1.5, 0.0, 7.0)
    assert chosen("rotl", budget=600, beta=3) == (3.0, 0.0, 7.0)
    with pytest.raises(SettingsError, match="a time looks like"):
        chosen("rotl", budget="soon")


def test_unknown_recipe() -> None:
    with pytest.raises(InputError, match="auto, paper, none"):
        recipe_values("best", None, "hale", "rotl")


@pytest.mark.parametrize("name", ["paper", *recipe_files()])
def test_every_recipe_that_ships_is_usable_and_says_how_it_was_found(name: str) -> None:
    content = read_recipe(recipes.FOLDER / f"{name}.toml")
    if name != "paper":
        dataset = CATALOG[name]
        assert content["entities"] == dataset.num_entities
        assert content["train"] == dataset.counts[0]
    searched = [content[graph] for graph in content if name == "paper" and graph in CATALOG]
    for tables in (content, *searched):
        for strategy in tables.keys() & OBJECTIVES.keys():
            for model, table in tables[strategy].items():
                chosen = "rote" if model == "any" else model
                assert chosen in MODELS
                own = {key: part for key, part in table.items() if isinstance(part, dict)}
                plain = {key: part for key, part in table.items() if key not in own}
                for kind, part in {"": plain, **own}.items():
                    if not part and own:  # a system that has settings by its kind alone
                        continue
                    assert part["found"]
                    values = {key: value for key, value in part.items() if key not in NO_SETTINGS}
                    if kind in ACTIVATIONS:
                        values |= {"activation": kind, "relation_scale": True}
                    check(complete(None, strategy=strategy, model=chosen, **values))


def test_tables_by_dimension_and_activation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kind's own table goes before the model's; how it came about is no setting."""
    text = (
        "entities = 4\ntrain = 9\n[hale.any]\ngamma = 1.0\nbeta = 2.0\n[hale.rote]\n"
        "gamma = 3.0\n[hale.rote.d256]\ngamma = 5.0\ntrials = 12\ntrial = 30.0\n"
        "[hale.rote.identity]\nweight = 0.25\n"
    )
    path = tmp_path / "toy.toml"
    path.write_text(text)
    content = read_recipe(path)
    assert settings_in(content, "hale", "rote") == {"gamma": 3.0, "beta": 2.0}
    high = settings_in(content, "hale", "rote", kinds=["d256"])
    assert high == {"gamma": 5.0, "beta": 2.0}
    monkeypatch.setattr(recipes, "recipe_files", lambda: {"toy": path})
    graph = GraphCounts("toy", 4, 9)
    assert recipe_values("auto", graph, "hale", "rote", kinds=["d256"])["gamma"] == 5.0
    objective = OBJECTIVES["hale"]
    assert recipe_kinds({"dim": 256}, objective) == ["d256"]
    assert recipe_kinds({"dim": 32, "activation": "identity"}, objective) == ["d32", "identity"]
    assert recipe_kinds({"activation": "identity"}, OBJECTIVES["samneg"]) == []


@pytest.mark.parametrize("name", ["paper", *recipe_files()])
@pytest.mark.parametrize("budget", [60.0, 3600.0])
def test_every_recipe_suits_every_model_that_takes_it(name: str, budget: float) -> None:
    content = read_recipe(recipes.FOLDER / f"{name}.toml")
    for strategy in content.keys() & OBJECTIVES.keys():
        for model in MODELS:
            if common(MODELS[model], OBJECTIVES[strategy]):
                values = settings_in(content, strategy, model, budget)
                check(complete(None, recipe="none", strategy=strategy, model=model, **values))


@pytest.mark.parametrize("name", recipe_files())
@pytest.mark.parametrize("budget", [60.0, 3600.0])
def test_no_recipe_has_a_block_that_is_warned_of(name: str, budget: float) -> None:
    content = read_recipe(recipes.FOLDER / f"{name}.toml")
    for model in ("rotl", "rote", "rotate", "distmult", "transe"):
        values = settings_in(content, "hale", model, budget)
        settings = complete(None, recipe="none", strategy="hale", model=model, **values)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            blocks_of(settings, content["entities"])
        assert not told, (model, [str(one.message) for one in told])

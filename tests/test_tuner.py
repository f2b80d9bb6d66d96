"""The search: on validation triples, resumable, its best written as a recipe."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from hale.errors import InputError
from hale.graph import Graph
from hale.systems import complete
from hale.tuner import SPACES, Tuned, _starting_point, recipe_text, tune

pytest.importorskip("optuna")


def test_a_search_goes_on_and_improves_or_stays(graph: Graph, tmp_path: Path) -> None:
    told: list[str] = []
    options = {"out": tmp_path, "trial_seconds": 0.2, "dim": 4, "announce": told.append}
    first = tune(graph, budget=0.5, **options)
    assert first.trials >= 1
    assert told[0].startswith("trial 0")
    second = tune(graph, budget=0.5, **options)
    assert second.trials > first.trials
    assert second.mrr >= first.mrr
    assert set(second.values) <= set(complete().model_dump())


@pytest.mark.parametrize("strategy", SPACES)
def test_every_space_names_settings_and_starts_at_what_there_is(strategy: str) -> None:
    model = "complex" if strategy == "allneg" else "rotl"
    settings = complete(model=model, strategy=strategy).model_dump()
    start = _starting_point(settings, SPACES[strategy])
    assert set(start) <= set(settings)
    assert start["learning_rate"] == settings["learning_rate"]
    check = complete(model=model, strategy=strategy, **start)
    assert check.strategy == strategy


def test_without_validation_triples_there_is_nothing_to_judge_by(
    graph: Graph, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="judges by validation triples"):
        tune(replace(graph, valid=graph.valid[:0]), out=tmp_path, budget=1)
    with pytest.raises(InputError, match="There is no search for nonneg"):
        tune(graph, out=tmp_path, budget=1, strategy="nonneg")


def test_the_recipe_can_be_read_back(graph: Graph) -> None:
    tuned = Tuned({"gamma": 5.25, "batch_size": 64}, 0.4, 3, 1, 10.0)
    text = recipe_text(graph, "hale", "rotl", tuned, 'by "hand"')
    content = tomllib.loads(text)
    assert content["train"] == len(graph.train)
    assert content["hale"]["rotl"] == {"found": 'by "hand"', "gamma": 5.25, "batch_size": 64}

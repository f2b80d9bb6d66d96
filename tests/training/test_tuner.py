"""The search: on validation triples, resumable, its best written as a recipe."""

from __future__ import annotations

import logging
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hale.data.graph import Graph
from hale.errors import InputError
from hale.runs.systems import complete
from hale.settings import make_settings
from hale.training.trainer import Trainer
from hale.training.tuner import (
    BESIDE,
    JOURNAL,
    SPACES,
    Tuned,
    matters,
    recipe_of,
    recipe_text,
    starting_points,
    tune,
)

optuna = pytest.importorskip("optuna")


def test_a_search_goes_on_and_improves_or_stays(graph: Graph, tmp_path: Path) -> None:
    told: list[str] = []
    options = {"out": tmp_path, "trial_seconds": 0.2, "dim": 4, "announce": told.append}
    first = tune(graph, budget=0.3, **options)
    assert first.trials >= 1
    assert told[0].startswith(f"trial 0: {first.start:.4f}"), "it begins with what there is"
    assert tune(graph, budget=0.3, **options) == first, "the budget is spent"
    second = tune(graph, budget=first.seconds + 0.5, **options)
    assert second.trials > first.trials
    assert second.mrr >= first.mrr
    assert len(told) == second.trials - second.pruned
    tried = [line.split(" ", 3)[3] for line in told]
    assert len(set(tried)) == len(tried), "nothing is tried twice"
    assert set(second.values) <= set(complete().model_dump())


def test_what_was_found_is_all_that_differs(graph: Graph, tmp_path: Path) -> None:
    """Also what was fixed and what the rule gave: the recipe alone says what was trained."""
    asked = {"trial_seconds": 0.2, "dim": 4, "gamma_start": 3.0, "beta": 2.5}
    first = tune(graph, out=tmp_path, budget=0.1, **asked)
    found = tune(graph, out=tmp_path, budget=first.seconds + 0.5, **asked)
    assert found.trials > 1
    assert found.strategy == "hale"
    assert found.values["gamma_start"] == 3.0
    assert found.values["beta"] == 2.5, "what is given stays"
    assert not found.values.keys() & {"dim", "budget", "model", "seed"}


@pytest.mark.parametrize("strategy", SPACES)
def test_every_space_names_settings_and_starts_at_what_there_is(strategy: str) -> None:
    model = "complex" if strategy == "allneg" else "rotl"
    began = complete(model=model, strategy=strategy)
    settings = began.model_dump()
    settings["gamma_two_way"] = settings["gamma"]  # one, for all
    start, *steps = starting_points(began, SPACES[strategy], BESIDE)
    assert set(start) <= set(settings)
    for name, value in start.items():
        assert value == settings[name], name
    changed = [[name for name in start if step[name] != start[name]] for step in steps]
    assert {len(names) for names in changed} == {1}, "one setting each"
    assert {names[0] for names in changed} == set(start), "and every one"


def test_a_step_stays_in_the_space() -> None:
    began = complete(gamma=3.0, weight=1.5, queries=160, learning_rate=0.2)
    first, *steps = starting_points(began, SPACES["hale"], ())
    assert first["learning_rate"] == 0.05, "the edge"
    tried = {name: sorted({step[name] for step in steps} - {first[name]}) for name in first}
    assert tried["gamma"] == [pytest.approx(4.65)], "no lower one: 3 is the least"
    assert tried["weight"] == [0.75, 2.0]
    assert tried["queries"] == [100]
    assert tried["learning_rate"] == [0.025]


def test_a_bound_for_relations_that_run_both_ways_is_sought_where_there_are_any() -> None:
    began = complete(gamma_two_way=9.0)
    assert starting_points(began, SPACES["hale"], BESIDE)[0]["gamma_two_way"] == 9.0
    assert "gamma_two_way" not in starting_points(began, SPACES["hale"], ())[0]


def test_what_matters_beside(graph: Graph) -> None:
    one_way = replace(graph, train=np.array([[0, 0, 1], [1, 0, 2]]))
    mutual = replace(graph, train=np.array([[0, 0, 1], [1, 0, 0]]))
    assert matters(one_way, "rotl") == ["near"]
    assert matters(one_way, "transe") == []
    assert matters(mutual, "rotl") == ["gamma_two_way", "near"]


def test_ctrl_c_ends_a_search_without_a_traceback(
    graph: Graph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The library that searches would log one."""

    def interrupted(_: Trainer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "fit", interrupted)
    monkeypatch.setattr(logging.getLogger("optuna"), "propagate", True)
    with pytest.raises(KeyboardInterrupt):
        tune(graph, out=tmp_path, budget=1, trial_seconds=0.2, dim=4)
    assert not caplog.records
    monkeypatch.undo()
    tune(graph, out=tmp_path, budget=1, trial_seconds=0.2, dim=4)
    with_state = _trials(tmp_path)
    asked = [params for state, params in with_state if state != "FAIL" and params]
    assert len(asked) == len({str(params) for params in asked}), "each point is queued once"
    first = starting_points(complete(graph, dim=4), SPACES["hale"], matters(graph, "rotl"))
    assert [point for point in first if point not in asked] == [], "the broken one too"


def _trials(folder: Path) -> list[tuple[str, dict[str, object]]]:
    """The states of all trials of a search, and the points that were queued."""
    backend = optuna.storages.journal.JournalFileBackend(str(folder / JOURNAL))
    storage = optuna.storages.JournalStorage(backend)
    (study,) = optuna.study.get_all_study_names(storage)
    trials = optuna.load_study(study_name=study, storage=storage).trials
    return [(trial.state.name, trial.system_attrs.get("fixed_params", {})) for trial in trials]


@pytest.mark.parametrize("strategy", SPACES)
def test_a_recipe_alone_says_what_was_trained(strategy: str) -> None:
    """Also where the best is a general default that the strategy or the model has not."""
    model = "rescal" if strategy == "allneg" else "rotl"
    began = complete(model=model, strategy=strategy)
    general = make_settings().model_dump()
    for point in starting_points(began, SPACES[strategy], BESIDE):
        trained = complete(model=model, strategy=strategy, **point)
        values = recipe_of(trained, point.keys())
        assert complete(model=model, strategy=strategy, **values) == trained
        assert set(point) <= set(values)
        moved = {name: general[name] for name in point if general[name] is not None}
        assert moved.items() <= recipe_of(make_settings(strategy=strategy), point.keys()).items()


def test_what_is_fixed_does_not_move() -> None:
    began = complete(beta=2.5)
    first, *steps = starting_points(began, SPACES["hale"], (), fixed=["beta"])
    assert {step["beta"] for step in steps} == {first["beta"]} == {2.5}
    with pytest.raises(InputError, match="A search moves queries"):
        starting_points(complete(alpha=0.1), SPACES["hale"], ())


def test_without_validation_triples_there_is_nothing_to_judge_by(
    graph: Graph, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="judges by validation triples"):
        tune(replace(graph, valid=graph.valid[:0]), out=tmp_path, budget=1)
    with pytest.raises(InputError, match="positive budget"):
        tune(graph, out=tmp_path, budget=0)
    with pytest.raises(InputError, match="There is no search for nonneg"):
        tune(graph, out=tmp_path, budget=1, strategy="nonneg")


def test_the_recipe_can_be_read_back(graph: Graph) -> None:
    values = {"gamma": 5.25, "batch_size": 64, "square": False, "optimizer": "adagrad"}
    text = recipe_text(graph, "rotl", Tuned("hale", values, 0.4, 0.3, 3, 1, 10.0), 'by "hand"')
    content = tomllib.loads(text)
    assert content["train"] == len(graph.train)
    assert content["hale"]["rotl"] == {"found": 'by "hand"', **values}

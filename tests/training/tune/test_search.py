"""The search: on validation triples, resumable."""

from __future__ import annotations

import itertools
import logging
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hale.data.graph import Graph
from hale.errors import InputError
from hale.objectives import HaLE
from hale.runs.run import Record, Run, Summary
from hale.runs.systems import complete
from hale.training.trainer import Trainer
from hale.training.tune.activation_space import first_shape
from hale.training.tune.points import digest_of, published_points, space_for, starting_points
from hale.training.tune.search import JOURNAL, tune

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


def test_a_search_is_found_again_by_its_name(graph: Graph, tmp_path: Path) -> None:
    """Where space, loss and beginning are the same it goes on: trials of others are of no use."""
    tune(graph, out=tmp_path, budget=0.1, trial_seconds=0.2, dim=4, threads=None, beta=2.5)
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / JOURNAL))
    (name,) = optuna.study.get_all_study_names(optuna.storages.JournalStorage(backend))
    start = complete(graph, dim=4, beta=2.5)
    space = space_for(graph, start)
    first, *_ = starting_points(start, space, len(graph.entities))
    digest = digest_of(space, HaLE.revision, first, [])
    assert name == f"{graph.name}-hale-rotl-4-0.2s-{digest}-beta=2.5-dim=4"
    tune(graph, out=tmp_path, budget=0.1, trial_seconds=0.2, trials=9, dim=4, beta=2.5)
    names = optuna.study.get_all_study_names(optuna.storages.JournalStorage(backend))
    assert names == [name], "however many trials are asked for"


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
    start = complete(graph, dim=4)
    first, *_ = starting_points(start, space_for(graph, start), len(graph.entities))
    assert asked[0] == first, "the broken one too"


def test_steps_that_gain_are_combined(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step is taken from the best so far: beta and weight gain here, whatever else is tried."""
    start = complete(graph, dim=4)

    def fit(trainer: Trainer) -> Run:
        asked = trainer.settings
        mrr = 0.2 + 0.1 * (asked.beta > start.beta) + 0.1 * (asked.weight < start.weight)
        history = [Record(1, 1.0, 1.0, 0.1, {}, {"mrr": mrr})]
        summary = Summary("budget", 3, 1.0, 1.0, 0.0, 4, 1, 1, "cpu")
        return Run(asked, graph, trainer.model, summary, history)

    monkeypatch.setattr(Trainer, "fit", fit)
    points = starting_points(start, space_for(graph, start), len(graph.entities))
    asked = {"out": tmp_path, "budget": math.inf, "trial_seconds": 1, "dim": 4}
    half = tune(graph, trials=9, **asked)
    steps = [params for _, params in _trials(tmp_path)]
    assert steps[0] == points[0]
    # lower and higher: the rate, gamma, and the weight, whose lower one gains and is kept
    assert [_apart(step, points[0]) for step in steps[1:5]] == [
        {"learning_rate"},
        {"learning_rate"},
        {"gamma"},
        {"gamma"},
    ]
    assert steps[5:] == [{}] * 4, "half are drawn, not queued"
    found = tune(graph, trials=2 * len(points), **asked)  # gone on with
    assert (half.start, found.start) == (0.2, 0.2)
    assert found.mrr == pytest.approx(0.4)
    steps = [params for _, params in _trials(tmp_path) if params]
    assert len({str(step) for step in steps}) == len(steps), "none twice"


def test_what_is_known_is_tried_before_steps(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is, not mixed with the best so far; and steps go on from the best of them."""

    def fit(trainer: Trainer) -> Run:
        mrr = 0.3 if trainer.settings.optimizer == "adagrad" else 0.2
        history = [Record(1, 1.0, 1.0, 0.1, {}, {"mrr": mrr})]
        summary = Summary("budget", 3, 7.5, 1.0, 0.0, 4, 1, 1, "cpu")
        return Run(trainer.settings, graph, trainer.model, summary, history)

    monkeypatch.setattr(Trainer, "fit", fit)
    start = complete(graph, strategy="samneg", model="transe", dim=4)
    space = space_for(graph, start)
    known = published_points(start, space, len(graph.entities))
    asked = {"out": tmp_path, "budget": math.inf, "trial_seconds": 1, "dim": 4}
    found = tune(graph, trials=5, strategy="samneg", model="transe", **asked)
    first, adam, adagrad, step, _ = (params for _, params in _trials(tmp_path))
    assert [adam, adagrad] == known
    assert _apart(step, adagrad) == {"learning_rate"}
    assert step["learning_rate"] == first["learning_rate"] / 2
    assert (found.values["optimizer"], found.epochs) == ("adagrad", 7.5)


def test_some_settings_alone_move_from_where_a_search_begins(graph: Graph, tmp_path: Path) -> None:
    """The others stay at what it begins at; what is given goes before that."""
    begin = {"weight": 0.3, "learning_rate": 0.02, "queries": 8, "beta": 2.0, "square": True}
    found = tune(
        graph,
        out=tmp_path,
        budget=math.inf,
        trials=4,
        trial_seconds=0.1,
        begin=begin,
        only=("weight", "learning_rate"),
        dim=4,
        square=False,
    )
    begun, *others, drawn = (params for _, params in _trials(tmp_path))
    assert begun == {"learning_rate": 0.02, "weight": 0.3}
    assert [_apart(begun, params) for params in others] == [{"learning_rate"}] * 2
    assert not drawn, "not queued"
    told = {**dict(found.values)}
    assert (told["queries"], told["beta"], told.get("square", False)) == (8, 2.0, False)


def _apart(one: dict[str, object], other: dict[str, object]) -> set[str]:
    """The settings in which two points differ."""
    return {name for name in one if one[name] != other[name]}


def _trials(folder: Path) -> list[tuple[str, dict[str, object]]]:
    """The states of all trials of a search, and the points that were queued."""
    backend = optuna.storages.journal.JournalFileBackend(str(folder / JOURNAL))
    storage = optuna.storages.JournalStorage(backend)
    (study,) = optuna.study.get_all_study_names(storage)
    trials = optuna.load_study(study_name=study, storage=storage).trials
    return [(trial.state.name, trial.system_attrs.get("fixed_params", {})) for trial in trials]


def test_without_validation_triples_there_is_nothing_to_judge_by(
    graph: Graph, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="judges by validation triples"):
        tune(replace(graph, valid=graph.valid[:0]), out=tmp_path, budget=1)
    with pytest.raises(InputError, match="positive budget"):
        tune(graph, out=tmp_path, budget=0)
    with pytest.raises(
        InputError, match=r"There is no search for allneg-square; there is for \['hale', 'samneg'"
    ):
        tune(graph, out=tmp_path, budget=1, model="distmult", strategy="allneg-square")


def test_a_trial_is_judged_by_its_best_validation(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by its first nor by its last."""

    def fit(trainer: Trainer) -> Run:
        curve = enumerate((0.2, 0.6, 0.4))
        history = [Record(step, 1.0, 1.0, 0.1, {}, {"mrr": mrr}) for step, mrr in curve]
        summary = Summary("budget", 3, 1.0, 1.0, 0.0, 4, 1, 1, "cpu")
        return Run(trainer.settings, graph, trainer.model, summary, history)

    monkeypatch.setattr(Trainer, "fit", fit)
    told: list[str] = []
    found = tune(graph, out=tmp_path, budget=1e-9, trial_seconds=1, dim=4, announce=told.append)
    assert (found.trials, found.mrr, found.start) == (1, 0.6, 0.6)
    assert told[0].startswith("trial 0: 0.6000 ")


def test_trials_are_given_up_where_the_pruner_says_so(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optuna.Trial, "should_prune", lambda _: True)
    with pytest.raises(InputError, match="No trial was finished"):
        tune(graph, out=tmp_path, budget=0.3, trial_seconds=0.2, dim=4)


def test_a_number_of_trials_ends_a_search(graph: Graph, tmp_path: Path) -> None:
    asked = {"out": tmp_path, "budget": math.inf, "trial_seconds": 0.1, "model": "transe", "dim": 4}
    found = tune(graph, trials=2, **asked)
    assert found.trials == 2
    assert tune(graph, trials=2, **asked).trials == 2, "no trial more"
    assert tune(graph, trials=3, **asked).trials == 3, "gone on with"


def test_a_search_tells_how_much_of_the_machine_its_trials_had(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CPU seconds by those of a clock and its threads, of the trial that had the least."""
    clock, cpu = (
        itertools.count(step=4.0),
        itertools.accumulate(itertools.cycle((1.0, 3.0, 1.0, 2.0))),
    )
    clocks = SimpleNamespace(perf_counter=lambda: next(clock), process_time=lambda: next(cpu))
    monkeypatch.setattr("hale.training.cpu_share.time", clocks)
    found = tune(
        graph, out=tmp_path, budget=math.inf, trials=2, trial_seconds=0.1, dim=4, threads=1
    )
    assert found.cpu_share == 2 / 4


@pytest.mark.parametrize(("family", "count"), [("sigmoid", 3), ("spline", 9)])
def test_a_search_for_an_activation_moves_its_shape_alone(
    graph: Graph, tmp_path: Path, family: str, count: int
) -> None:
    options: dict[str, Any] = {"trial_seconds": 0.2, "dim": 4, "search": "activation"}
    first = tune(graph, out=tmp_path, budget=0.1, activation=family, **options)
    found = tune(graph, out=tmp_path, budget=first.seconds + 0.5, activation=family, **options)
    assert found.trials > 1
    assert found.values["activation"] == family
    shape = found.values["shape"]
    assert isinstance(shape, tuple)
    assert len(shape) == count
    tried = [params for _, params in _trials(tmp_path) if params]
    moved = {name for params in tried for name in params} - {"gamma_two_way"}
    assert moved == {*(f"shape.{place}" for place in range(count)), "gamma"}
    usual = complete(graph, dim=4)
    begun = first_shape(family, usual)
    assert [tried[0][f"shape.{place}"] for place in range(count)] == pytest.approx(begun)


def test_hanon_searched_alike_moves_its_slope_and_bound(graph: Graph, tmp_path: Path) -> None:
    options: dict[str, Any] = {"trial_seconds": 0.1, "dim": 4, "search": "activation"}
    found = tune(graph, out=tmp_path, budget=math.inf, trials=2, activation="hanon", **options)
    tried = [params for _, params in _trials(tmp_path) if params]
    assert {name for params in tried for name in params} - {"gamma_two_way"} == {"beta", "gamma"}
    assert tried[0]["beta"] == complete(graph, dim=4).beta
    assert {"beta", "gamma"} <= found.values.keys()


def test_a_search_that_there_is_not(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Unknown search 'shape'"):
        tune(graph, out=tmp_path, budget=1, search="shape")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="among hanon, sigmoid, spline"):
        tune(graph, out=tmp_path, budget=1, search="activation", activation="halin")
    with pytest.raises(InputError, match="Trials have no teachers"):
        tune(graph, out=tmp_path, budget=1, teacher=["runs/mine"])

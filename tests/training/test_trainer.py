"""Training: it learns, repeats itself, resumes exactly, and stops cleanly."""

from __future__ import annotations

import json
import math
import os
import signal
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hale.data import files
from hale.data.graph import Graph, Ids, KnownAnswers, Vocabulary
from hale.errors import HaleWarning, RunError, SettingsError, TrainingError
from hale.evaluation.evaluator import evaluate
from hale.models import MODELS, Model
from hale.objectives import Loss
from hale.runs.folder import RunFolder
from hale.runs.run import Record, Run, load_run
from hale.settings import Settings, make_settings
from hale.training.start import train
from hale.training.stopping import Clock
from hale.training.trainer import Trainer
from tests.conftest import ring

FAST = {"dim": 8, "batch_size": 32, "queries": 8}


def weights(run: Run) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in run.model.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(value, other[name]) for name, value in one.items())


class StopAt:
    """Sends a signal to this process after some step."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.records: list[tuple[Record, bool]] = []

    def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
        assert 0 <= progress <= 1
        assert set(losses) == {"alignment", "uniformity"}
        if clock.step == self.step:
            os.kill(os.getpid(), signal.SIGINT)

    def validated(self, record: Record, *, kept: bool) -> None:
        self.records.append((record, kept))


@pytest.mark.parametrize("model", MODELS)
def test_a_ring_is_learnt(model: str) -> None:
    """By chance MRR would be about 0.2.

    Rotations close the ring, so held-out steps follow from the others. A shift or a stretch
    cannot close it: TransE and DistMult can only learn the steps that they are shown.
    """
    options = {"batch_size": FAST["batch_size"]}
    rectified = ("conve", "convtranse", "compgcn", "sacn")  # a query is behind a rectifier
    options["dim"] = 32 if model in rectified else FAST["dim"]
    run = train(ring(24), model=model, epochs=400, validate_every="100", **options)
    split, least = ("test", 0.6) if model.startswith("rot") else ("train", 0.45)
    assert evaluate(run, split).mrr > least


@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
def test_the_loss_falls(graph: Graph, optimizer: str) -> None:
    run = train(graph, epochs=40, optimizer=optimizer, validate_every="1", **FAST)
    totals = [sum(record.losses.values()) for record in run.history]
    assert totals[-1] < totals[0]


def test_same_seed_same_weights_bit_for_bit(graph: Graph) -> None:
    one, two, other = (train(graph, epochs=20, seed=seed, **FAST) for seed in (1, 1, 2))
    assert same(weights(one), weights(two))
    assert not same(weights(one), weights(other))
    assert [r.metrics for r in one.history] == [r.metrics for r in two.history]


def test_the_global_generator_is_left_alone(graph: Graph) -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    train(graph, epochs=2, **FAST)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize("step", [1, 7, 30])
def test_interrupt_saves_and_resume_is_exact(graph: Graph, tmp_path: Path, step: int) -> None:
    options = {"epochs": 20, "validate_every": "2", **FAST}
    whole = train(graph, out=tmp_path / "whole", **options)
    part = train(graph, out=tmp_path / "part", observer=StopAt(step), **options)
    assert part.summary.stopped_by == "interrupt"
    assert part.summary.steps == step
    stored = load_run(tmp_path / "part")
    assert stored.summary == part.summary
    assert same(weights(stored), weights(part))

    resumed = train(graph, out=tmp_path / "part", resume=True, **options)
    assert resumed.summary.stopped_by == "epochs"
    assert same(weights(resumed), weights(whole))
    assert same(weights(load_run(tmp_path / "part")), weights(whole))

    def stripped(run: Run) -> list[tuple[object, ...]]:
        return [(r.step, r.epoch, r.learning_rate, r.losses, r.metrics) for r in run.history]

    assert stripped(resumed) == stripped(whole)
    assert resumed.summary.kept_step == whole.summary.kept_step


def test_interrupt_before_any_validation_keeps_what_there_is(graph: Graph, tmp_path: Path) -> None:
    run = train(graph, out=tmp_path / "run", epochs=50, observer=StopAt(3), **FAST)
    fresh = Trainer(graph, make_settings(epochs=50, **FAST))
    assert run.summary.kept_step == 3
    assert not same(weights(run), fresh.model.state_dict())
    assert run.best is None


def test_resume_needs_no_graph_and_no_settings(graph: Graph, tmp_path: Path) -> None:
    train(graph, out=tmp_path / "run", epochs=10, observer=StopAt(5), **FAST)
    resumed = train(None, out=tmp_path / "run", resume=True)
    assert resumed.summary.stopped_by == "epochs"
    again = train(None, out=tmp_path / "run", resume=True)  # nothing left to do
    assert again.summary.steps == resumed.summary.steps
    assert same(weights(again), weights(resumed))


def test_reports_stay_until_the_weights_are_others(graph: Graph, tmp_path: Path) -> None:
    run = train(graph, out=tmp_path / "run", epochs=2, **FAST)
    run.save_metrics("test", {"mrr": 0.5})
    again = train(None, out=tmp_path / "run", resume=True)  # nothing left to do
    assert again.metrics == load_run(tmp_path / "run").metrics == {"test": {"mrr": 0.5}}
    longer = train(None, out=tmp_path / "run", resume=True, epochs=60)
    assert longer.summary.kept_step > run.summary.kept_step
    assert longer.metrics == load_run(tmp_path / "run").metrics == {}


def test_resume_refuses_other_settings_and_other_graphs(graph: Graph, tmp_path: Path) -> None:
    train(graph, out=tmp_path / "run", epochs=2, **FAST)
    with pytest.raises(RunError, match="dim is 8, not 16"):
        train(graph, out=tmp_path / "run", resume=True, dim=16)
    with pytest.raises(RunError, match="begun on another graph"):
        train(ring(25), out=tmp_path / "run", resume=True)
    with pytest.raises(RunError, match="name the folder"):
        train(graph, resume=True)
    with pytest.raises(RunError, match="There is no run"):
        train(graph, out=tmp_path / "none", resume=True)


class KilledError(BaseException):
    """Stands for a kill: nothing in hale catches it."""


@pytest.mark.parametrize(
    ("victim", "save"),
    [
        ("checkpoint.safetensors", 1),
        ("checkpoint.safetensors", 4),
        ("model.safetensors", 1),
        ("history.jsonl", 1),
        ("history.jsonl", 4),
    ],
)
def test_a_kill_within_a_save_costs_nothing(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: str, save: int
) -> None:
    """Killed just before a file is written, for each file of a save: the resumed run is exact."""
    options = {"epochs": 10, "validate_every": "1", **FAST}
    whole = train(graph, **options)
    written = 0
    put = files.put_in_place

    def kill(waiting: Path, target: Path) -> None:
        nonlocal written
        written += target == tmp_path / "run" / victim
        if target == tmp_path / "run" / victim and written == save:
            raise KilledError
        put(waiting, target)

    monkeypatch.setattr(files, "put_in_place", kill)
    with pytest.raises(KilledError):
        train(graph, out=tmp_path / "run", **options)
    monkeypatch.setattr(files, "put_in_place", put)
    untrained = save == 1 and victim != "history.jsonl"
    with pytest.warns(HaleWarning, match="is not trained") if untrained else nullcontext():
        killed = load_run(tmp_path / "run")
    assert killed.summary.stopped_by == "unfinished"
    resumed = train(None, out=tmp_path / "run", resume=True)
    assert same(weights(resumed), weights(whole))
    assert same(weights(load_run(tmp_path / "run")), weights(whole))
    assert [r.metrics for r in resumed.history] == [r.metrics for r in whole.history]


def test_a_kill_after_resuming_leaves_no_false_metrics(graph: Graph, tmp_path: Path) -> None:
    options = {"epochs": 30, "validate_every": "1", **FAST}
    first = train(graph, out=tmp_path / "run", observer=StopAt(3), **options)
    first.save_metrics("test", evaluate(first, "test").as_dict())

    class Kill(StopAt):
        def validated(self, record: Record, *, kept: bool) -> None:
            if record.step > 20:
                raise KilledError

    with pytest.raises(KilledError):
        train(None, out=tmp_path / "run", resume=True, observer=Kill(-1))
    left = load_run(tmp_path / "run")
    assert left.summary.stopped_by == "unfinished"
    assert left.metrics == {}
    assert left.summary.steps > 20


def test_resume_refuses_what_cannot_go_on(graph: Graph, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(graph, out=run, epochs=20, validate_every="1", observer=StopAt(40), **FAST)
    state = (run / "checkpoint.safetensors").read_bytes()
    (run / "checkpoint.safetensors").unlink()
    with pytest.raises(RunError, match=r"checkpoint\.safetensors is missing"):
        train(None, out=run, resume=True)
    (run / "checkpoint.safetensors").write_bytes(state)
    folder = RunFolder(run)
    folder.write_tensors("model.safetensors", load_run(run).model.state_dict(), {"step": 1})
    if load_run(run).history[-1].step != 40:
        with pytest.raises(RunError, match="is of step 1"):
            train(None, out=run, resume=True)


class Ticks:
    """A clock that moves 1/128 of a second whenever it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1 / 128
        return self.now


def test_budget_counts_training_only_and_resumes_with_the_rest(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hale.training.trainer.time.perf_counter", Ticks())
    options = {"budget": "1s", "validate_every": "0.2s", **FAST}
    part = train(graph, out=tmp_path / "run", observer=StopAt(32), **options)
    assert part.summary.seconds == 0.25
    resumed = train(graph, out=tmp_path / "run", resume=True, **options)
    assert resumed.summary.stopped_by == "budget"
    assert resumed.summary.steps == 128
    assert resumed.summary.seconds == 1.0
    assert resumed.summary.validation_seconds == len(resumed.history) / 128
    assert [r.seconds for r in resumed.history] == pytest.approx(
        [0.2, 0.4, 0.6, 0.8, 1.0], abs=4 / 128
    )
    rates = [record.learning_rate for record in resumed.history]
    assert rates == pytest.approx([0.01, 0.01, 0.01, 0.005, 0.0], abs=1e-3)


def test_a_long_stretch_without_validation_is_saved(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hale.training.keeping.SAVE_SECONDS", -1.0)

    class Kill(StopAt):
        def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
            if clock.step == 5:
                raise KilledError

    with pytest.raises(KilledError):
        train(graph, out=tmp_path / "run", epochs=100, observer=Kill(-1), **FAST)
    assert load_run(tmp_path / "run").summary.kept_step == 4


def test_dropout_goes_from_its_start_over_the_run(graph: Graph) -> None:
    settings = make_settings(**FAST, epochs=4, dropout_start=0.1, dropout=0.5)
    shares: list[tuple[float, float]] = []

    class Watch:
        def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
            shares.append((progress, trainer.model.dropout.share))

        def validated(self, record: Record, *, kept: bool) -> None: ...

    trainer = Trainer(graph, settings, Watch())
    trainer.fit()
    step = 1 / len(shares)
    for number, (after, share) in enumerate(shares):
        assert after == pytest.approx((number + 1) * step)
        assert share == pytest.approx(0.1 + 0.4 * number * step), "set before the step"


def test_patience_ends_a_run_that_no_longer_improves(graph: Graph) -> None:
    watch = StopAt(-1)
    run = train(graph, patience=3, validate_every="5", observer=watch, **FAST)
    assert run.summary.stopped_by == "patience"
    assert [kept for _, kept in watch.records][-3:] == [False] * 3
    assert run.best is not None
    assert run.best.metrics["mrr"] == max(r.metrics["mrr"] for r in run.history)
    assert run.history[-1].learning_rate < run.settings.learning_rate


def test_the_best_state_is_kept_not_the_last(graph: Graph, tmp_path: Path) -> None:
    run = train(graph, out=tmp_path / "run", patience=3, validate_every="5", **FAST)
    assert run.summary.kept_step < run.summary.steps
    assert run.best is not None
    assert evaluate(run, "valid").mrr == pytest.approx(run.best.metrics["mrr"])
    assert evaluate(load_run(tmp_path / "run"), "valid").mrr == evaluate(run, "valid").mrr


SECOND_LOOK = {**FAST, "epochs": 6, "validate_every": "2", "validation_sample": 2}


class Ranking:
    """Stands for filtered_ranks: the first state is the best by the sample, and rank 2 by others.

    The last state has the rank ``of_last`` by others, where ``kill`` strikes.
    """

    def __init__(self, of_last: float, *, kill: bool = False) -> None:
        self.of_last, self.kill = of_last, kill
        self.seen: list[torch.Tensor] = []  # the entities at each validation
        self.sample: set[tuple[int, ...]] = set()

    def __call__(self, model: Model, triples: Ids, known: KnownAnswers) -> NDArray[np.float64]:
        entities = model.entities().detach().clone()
        if len(triples) == 2 * 2:
            self.seen.append(entities)
            self.sample = {tuple(row) for row in triples.tolist()}
            return np.full(len(triples), len(self.seen), dtype=np.float64)
        assert len(triples) == 2 * 4 * 2
        assert not self.sample & {tuple(row) for row in triples.tolist()}, "others"
        if self.kill:
            raise KilledError
        if torch.equal(entities, self.seen[-1]):
            return np.full(len(triples), self.of_last)
        assert torch.equal(entities, self.seen[0])
        return np.full(len(triples), 2.0)


@pytest.mark.parametrize("of_last", [1.5, 2.0, 3.0])
def test_other_triples_judge_the_last_state_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_last: float
) -> None:
    ranking, watch = Ranking(of_last), StopAt(-1)
    monkeypatch.setattr("hale.evaluation.validation.filtered_ranks", ranking)
    run = train(ring(40, held_out=12), out=tmp_path / "run", observer=watch, **SECOND_LOOK)
    kept_last = of_last <= 2.0
    expected = ranking.seen[-1 if kept_last else 0]
    assert torch.equal(run.model.entities(), expected)
    assert torch.equal(load_run(tmp_path / "run").model.entities(), expected)
    assert [kept for _, kept in watch.records] == [True, False, kept_last]
    assert run.best is not None
    assert run.best.metrics["mrr"] == pytest.approx(1 / 3 if kept_last else 1)


def test_a_kill_before_the_last_judgement_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hale.evaluation.validation.filtered_ranks", Ranking(1.5))
    graph = ring(40, held_out=12)
    whole = train(graph, **SECOND_LOOK)
    ranking = Ranking(1.5, kill=True)
    monkeypatch.setattr("hale.evaluation.validation.filtered_ranks", ranking)
    with pytest.raises(KilledError):
        train(graph, out=tmp_path / "run", **SECOND_LOOK)
    ranking.kill = False
    ranking.seen.pop()  # the validation that was lost with the kill is made again
    resumed = train(None, out=tmp_path / "run", resume=True)
    assert same(weights(resumed), weights(whole))
    assert resumed.summary.kept_step == whole.summary.kept_step == whole.summary.steps


def test_validation_ranks_a_sample(graph: Graph) -> None:
    run = train(graph, epochs=2, validation_sample=2, **FAST)
    assert run.summary.validation_sample == 2
    assert run.history[0].metrics["count"] == 4  # both directions


def test_without_a_valid_split_the_latest_is_kept(graph: Graph, tmp_path: Path) -> None:
    bare = Graph("g", graph.entities, graph.relations, graph.train, graph.valid[:0], graph.test)
    run = train(bare, out=tmp_path / "run", epochs=6, validate_every="2", **FAST)
    assert run.summary.kept_step == run.summary.steps
    assert [record.metrics for record in run.history] == [{}, {}, {}]
    with pytest.raises(SettingsError, match="no valid split"):
        train(bare, patience=2, **FAST)


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_state(
    graph: Graph, tmp_path: Path
) -> None:
    trainer = Trainer(graph, make_settings(epochs=20, validate_every="1", **FAST))
    trainer.begin(tmp_path / "run")

    class Poison(StopAt):
        def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
            if clock.step == 7:
                with torch.no_grad():
                    trainer.model.shift.weight.fill_(math.nan)  # type: ignore[union-attr, operator]

    trainer.observer = Poison(-1)
    with pytest.raises(TrainingError) as caught:
        trainer.fit()
    message = str(caught.value)
    assert "Not finite at step 7: the loss (alignment and uniformity)" in message
    assert "the largest parameter is shift.weight (nan)" in message
    assert "is kept in" in message
    good = load_run(tmp_path / "run")
    assert all(torch.isfinite(value).all() for value in good.model.state_dict().values())
    assert good.summary.kept_step > 0


@pytest.mark.parametrize("has_valid", [True, False])
def test_an_update_that_blows_up_is_not_kept(graph: Graph, tmp_path: Path, has_valid: bool) -> None:
    valid = graph.valid if has_valid else graph.valid[:0]
    given = Graph("g", graph.entities, graph.relations, graph.train, valid, graph.test)
    with pytest.raises(TrainingError, match="Not finite at step 1: the validation scores"):
        train(given, out=tmp_path / "run", epochs=2, batch_size=500, learning_rate=1e30, dim=8)
    with pytest.warns(HaleWarning, match="is not trained"):
        good = load_run(tmp_path / "run")
    assert good.summary.kept_step == 0
    assert evaluate(good, "test").mrr > 0
    with pytest.raises(TrainingError) as caught:
        train(given, epochs=2, batch_size=500, learning_rate=1e30, dim=8)
    assert "kept" not in str(caught.value)


def test_history_and_metrics_are_readable_files(graph: Graph, tmp_path: Path) -> None:
    run = train(graph, out=tmp_path / "run", epochs=4, validate_every="2", **FAST)
    lines = (tmp_path / "run" / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [record.step for record in run.history]
    run.save_metrics("test", evaluate(run, "test").as_dict())
    stored = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert stored["training"]["stopped_by"] == "epochs"
    assert stored["test"]["mrr"] == evaluate(run, "test").mrr
    assert load_run(tmp_path / "run").metrics["test"]["mrr"] == stored["test"]["mrr"]


def test_settings_or_values_not_both(graph: Graph) -> None:
    with pytest.raises(SettingsError, match="not both"):
        train(graph, make_settings(epochs=1), dim=4)
    bare = Graph("g", graph.entities, graph.relations, graph.test[:0], graph.valid, graph.test)
    with pytest.raises(SettingsError, match="no training triples"):
        train(bare, **FAST)
    with pytest.raises(SettingsError, match="a graph is needed"):
        train(None)
    assert train(graph, make_settings(epochs=1, **FAST)).settings.epochs == 1


def test_a_thread_may_train_too(graph: Graph) -> None:
    import threading

    done: list[Run] = []
    thread = threading.Thread(target=lambda: done.append(train(graph, epochs=1, **FAST)))
    thread.start()
    thread.join()
    assert done[0].summary.stopped_by == "epochs"


def test_a_run_without_loops_knows_which_relations_have_some(tmp_path: Path) -> None:
    """From train alone: 'self' joins entities to themselves, 'next' only in the test split."""
    ids = np.arange(12)
    after = np.stack([ids, np.zeros_like(ids), (ids + 1) % 12], axis=1)
    same = np.stack([ids, np.ones_like(ids), ids], axis=1)
    graph = Graph(
        name="both",
        entities=Vocabulary([f"e{i}" for i in ids], "entity"),
        relations=Vocabulary(["next", "self"], "relation"),
        train=np.concatenate([after[2:], same[2:]]),
        valid=np.concatenate([after[:2], same[:2]]),
        test=np.array([[3, 0, 3]]),
    )
    run = train(graph, model="rotl", dim=4, epochs=3, loops=False, out=tmp_path / "run")
    again = load_run(tmp_path / "run")
    for one in (run, again):
        assert one.model.may_loop is not None
        assert one.model.may_loop[:, 0].tolist() == [False, True, False, True]
    assert evaluate(again, "test").overall.mrr == pytest.approx(1 / 11), "last of all"
    assert again.model.score(*torch.tensor([[3], [1], [3]])).item() > -1e6


@pytest.mark.parametrize(
    "values",
    [
        {"model": "rotl"},
        {"model": "complex"},  # by inner product: another strategy, batch and rate
        {"model": "transe", "strategy": "samneg", "negatives": 7},
        {"gamma": 4.5, "activation": "identity"},
        {"batch_size": 16},
    ],
)
def test_settings_and_values_by_name_mean_the_same(graph: Graph, values: dict[str, Any]) -> None:
    """What is not given is completed in both, also if it was completed before."""
    values = {**values, "dim": 4, "epochs": 1, "threads": 1}
    by_name = train(graph, **values)
    by_settings = train(graph, Settings(**values))
    assert by_settings.settings == by_name.settings
    assert train(graph, by_name.settings).settings == by_name.settings
    stored = Settings.model_validate(by_name.settings.model_dump(mode="json"))
    assert train(graph, stored).settings == by_name.settings
    for name, weight in by_name.model.state_dict().items():
        assert weight.equal(by_settings.model.state_dict()[name])


def test_settings_of_another_strategy_are_refused_in_both(graph: Graph) -> None:
    for call in (
        lambda: train(graph, strategy="samneg", queries=7, epochs=1),
        lambda: train(graph, Settings(strategy="samneg", queries=7, epochs=1)),
    ):
        with pytest.raises(SettingsError, match="queries: not for samneg, only for hale"):
            call()


class Downhill:
    """The sum of all entity vectors: every entry has the gradient one, at every step."""

    def at(self, progress: float) -> Downhill:
        return self

    def __call__(self, model: Model, *_: object) -> Loss:
        total = model.entities().sum()
        return Loss(total, {"sum": total.detach()})


@pytest.mark.parametrize(
    ("decay", "factors"), [(1.0, [1, 0.75, 0.5, 0.25]), (0.5, [1, 1, 1, 0.5]), (0.0, [1, 1, 1, 1])]
)
def test_steps_get_shorter_as_the_learning_rate_falls(
    graph: Graph, decay: float, factors: list[float]
) -> None:
    """Adam moves an entry of constant gradient by the learning rate, whatever the gradient."""
    places: list[torch.Tensor] = []

    class Watch:
        def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
            places.append(trainer.model.entities().detach().clone())

        def validated(self, record: Record, *, kept: bool) -> None: ...

    asked = {"dim": 8, "batch_size": 2 * len(graph.train), "epochs": 4, "queries": 8}
    settings = make_settings(**asked, optimizer="adam", learning_rate=0.1, decay=decay)
    trainer = Trainer(graph, settings, Watch(), objective=Downhill())
    places.append(trainer.model.entities().detach().clone())
    trainer.fit()
    moves = [before - after for before, after in pairwise(places)]
    assert [move.mean().item() for move in moves] == pytest.approx(
        [0.1 * factor for factor in factors], rel=1e-3
    )


def test_a_history_that_a_kill_left_unwritten_comes_back(graph: Graph, tmp_path: Path) -> None:
    """The checkpoint is written first and holds it."""
    train(graph, out=tmp_path / "run", epochs=4, validate_every="1", **FAST)
    history = (tmp_path / "run" / "history.jsonl").read_bytes()
    (tmp_path / "run" / "history.jsonl").unlink()
    train(None, out=tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "history.jsonl").read_bytes() == history

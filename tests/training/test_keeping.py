"""What is kept lives in memory or in the folder, and saving has its share of the time."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hale.data.graph import Graph
from hale.settings import make_settings
from hale.training import keeping
from hale.training.checkpoint import State
from hale.training.keeping import Keeper
from hale.training.trainer import Trainer

FAST = {"dim": 8, "batch_size": 16, "queries": 4, "epochs": 4, "validate_every": "1"}


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(keeping, "time", made)
    return made


def trainer_in(folder: Path | None, graph: Graph) -> Trainer:
    trainer = Trainer(graph, make_settings(**FAST))
    if folder is not None:
        trainer.begin(folder)
    return trainer


def test_a_run_in_memory_holds_a_copy_and_one_in_a_folder_does_not(
    graph: Graph, tmp_path: Path
) -> None:
    for folder in (None, tmp_path / "run"):
        trainer = trainer_in(folder, graph)
        trainer._step()
        trainer.keeper.keep(trainer.state)
        trainer.keeper.save(trainer.state)
        kept = trainer.model.entities().detach().clone()
        trainer._step()
        assert bool(trainer.keeper.weights) == (folder is None)
        assert torch.equal(trainer.keeper.kept()["entity.weight"], kept)
        trainer.keeper.save(trainer.state)
        last = trainer.keeper.last()["entity.weight"]
        assert torch.equal(last, trainer.model.entities())
        assert not torch.equal(last, kept)
        trainer.keeper.restore(trainer.state)
        assert torch.equal(trainer.model.entities(), kept)


def test_long_saves_take_a_tenth_of_the_time(graph: Graph, tmp_path: Path, clock: Clock) -> None:
    keeper = trainer_in(tmp_path / "run", graph).keeper
    keeper.clocked = True
    assert keeper.affordable, "short saves always are"
    keeper.longest, keeper.spent = 5.0, 0.0
    clock.now += 49.0
    assert not keeper.affordable
    clock.now += 1.0
    assert keeper.affordable, "5 of 50 seconds"
    keeper.spent = 5.0
    assert not keeper.affordable
    clock.now += 50.0
    assert keeper.affordable


def test_the_first_save_is_foretold_by_the_weights(
    graph: Graph, tmp_path: Path, clock: Clock
) -> None:
    """Weights and two tables of Adam's for the checkpoint, and the weights again."""
    trainer = trainer_in(tmp_path / "run", graph)
    keeper = Keeper(trainer.model, trainer.optimizer)
    keeper.begin(trainer.keeper.folder, 3.0)
    assert keeper.longest == 12.0
    assert not keeper.affordable


def test_in_memory_nothing_is_saved(graph: Graph, clock: Clock) -> None:
    keeper = trainer_in(None, graph).keeper
    keeper.longest = 1e9
    assert keeper.affordable


def test_a_run_that_cannot_save_keeps_its_last_state(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every save but the last is beyond its share: none is made, and nothing earlier is kept."""
    trainer = trainer_in(tmp_path / "run", graph)
    saves: list[int] = []
    whole = Keeper.save

    def save(self: Keeper, state: State) -> None:
        saves.append(state.clock.step)
        whole(self, state)

    monkeypatch.setattr(Keeper, "save", save)
    monkeypatch.setattr(Keeper, "affordable", property(lambda self: False))
    run = trainer.fit()
    assert saves == [run.summary.steps]
    assert run.summary.kept_step == run.summary.steps
    assert len(run.history) == 4


def test_patience_counts_from_the_best_that_was_seen_saved_or_not(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """.3 is kept, .5 cannot be saved, and .4 is then no better twice over."""
    figures = iter([0.3, 0.5, 0.4, 0.4, 0.9])
    monkeypatch.setattr(
        "hale.evaluation.validation.Validation.metrics", lambda self, model: {"mrr": next(figures)}
    )
    trainer = Trainer(graph, make_settings(**{**FAST, "epochs": 9}, patience=2))
    trainer.begin(tmp_path / "run")
    allowed = iter([True] * 2 + [False] * 99)
    monkeypatch.setattr(Keeper, "affordable", property(lambda self: next(allowed)))
    run = trainer.fit()
    assert [record.metrics["mrr"] for record in run.history] == [0.3, 0.5, 0.4, 0.4]
    assert run.summary.stopped_by == "patience"


def test_without_a_budget_nothing_depends_on_the_clock(
    graph: Graph, tmp_path: Path, clock: Clock
) -> None:
    trainer = trainer_in(tmp_path / "run", graph)
    trainer.keeper.longest = 1e9
    assert trainer.keeper.affordable, "epochs alone"
    timed = Trainer(graph, make_settings(**{**FAST, "epochs": None}, budget=5))
    timed.begin(tmp_path / "timed")
    timed.keeper.longest = 1e9
    assert not timed.keeper.affordable


def test_the_last_state_needs_no_copy(graph: Graph) -> None:
    trainer = Trainer(graph, make_settings(**FAST), keep="last")
    run = trainer.fit()
    assert not trainer.keeper.weights
    assert run.summary.kept_step == run.summary.steps


def test_the_first_save_takes_the_place_of_the_guess(
    graph: Graph, tmp_path: Path, clock: Clock
) -> None:
    keeper = trainer_in(tmp_path / "run", graph).keeper
    keeper.longest = 50.0
    trainer_state = State()
    keeper.save(trainer_state)
    assert keeper.longest == 0.0, "by this clock"

"""Extension: a run that is given more time is what it would have been, or near it, and no worse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from hale.data.graph import Graph
from hale.errors import RunError
from hale.evaluation.evaluator import evaluate
from hale.evaluation.metrics import Metrics
from hale.evaluation.ranks import filtered_ranks
from hale.runs.folder import RunFolder
from hale.runs.run import Record, Run, load_run
from hale.settings import make_settings
from hale.training.extension import extended
from hale.training.start import train
from hale.training.stopping import Clock, StopRule
from hale.training.trainer import Trainer
from tests.conftest import ring

FAST: dict[str, Any] = {"dim": 8, "batch_size": 32, "queries": 8, "recipe": "none"}


def mrr(run: Run) -> float:
    """Of all held-out facts."""
    return (evaluate(run, "valid").mrr + evaluate(run, "test").mrr) / 2


def told(run: Run) -> list[tuple[object, ...]]:
    """Its history, without the seconds."""
    return [(r.step, r.epoch, r.learning_rate, r.losses, r.metrics) for r in run.history]


def test_an_extended_run_is_no_worse_and_near_to_one_trained_in_one_go(tmp_path: Path) -> None:
    graph, options = ring(60, held_out=12), {"validate_every": "10", **FAST}
    short = train(graph, out=tmp_path / "run", epochs=20, **options)
    first = mrr(short)
    longer = train(None, out=tmp_path / "run", resume=True, epochs=300)
    whole = train(graph, epochs=300, **options)
    assert longer.summary.stopped_by == "epochs"
    assert longer.summary.epochs == whole.summary.epochs == 300
    assert short.best is not None
    assert longer.best is not None
    assert longer.best.metrics["mrr"] >= short.best.metrics["mrr"]
    assert first < 0.75 * mrr(whole), "else there would be nothing to gain"
    assert mrr(longer) == pytest.approx(mrr(whole), rel=0.15)


def test_the_rate_is_what_the_new_limit_says(tmp_path: Path) -> None:
    """Epoch 10 of 10 has no rate left, epoch 12 of 40 all of it, and 34 of 40 is 15 % from the end.

    The rate falls over the last 40 %.
    """
    train(ring(24), out=tmp_path / "run", epochs=10, **FAST, learning_rate=0.02)
    run = train(None, out=tmp_path / "run", resume=True, epochs=40, **FAST, learning_rate=0.02)
    rates = {round(record.epoch): record.learning_rate for record in run.history}
    assert list(rates) == [*range(1, 11), 14, 18, 22, 26, 30, 34, 38, 40]
    assert rates[10] == 0
    assert rates[14] == rates[22] == 0.02
    assert rates[34] == pytest.approx(0.02 * 0.15 / 0.4)
    assert rates[38] == pytest.approx(0.02 * 0.05 / 0.4)


def test_the_folder_tells_the_new_limit_and_where_it_began(tmp_path: Path) -> None:
    first = train(ring(24), out=tmp_path / "run", epochs=4, **FAST)
    train(None, out=tmp_path / "run", resume=True, epochs=4)  # its own: nothing to tell
    header = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert "extended" not in header
    run = train(None, out=tmp_path / "run", resume=True, epochs=9)
    after = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert after["settings"]["epochs"] == run.settings.epochs == 9
    (entry,) = after["extended"]
    assert entry["step"] == first.summary.steps
    assert entry["before"] == {"budget": None, "epochs": 4, "patience": None}
    assert after["id"] == header["id"]
    loaded = load_run(tmp_path / "run")
    assert loaded.settings == run.settings
    assert loaded.summary == run.summary
    assert [r.step for r in loaded.history] == [r.step for r in run.history]


class KilledError(BaseException):
    """Stands for a kill: nothing in hale catches it."""


class KillAt:
    """Kills before a step is saved."""

    def __init__(self, step: int) -> None:
        self.step = step

    def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
        if clock.step == self.step:
            raise KilledError

    def validated(self, record: Record, *, kept: bool) -> None:
        pass


@pytest.mark.parametrize("steps_more", [1, 7])
def test_an_extension_that_is_killed_goes_on_exactly(tmp_path: Path, steps_more: int) -> None:
    """Also before anything is saved under the new limit, though patience counts anew by it."""
    options = {"epochs": 5, "patience": 8, "validate_every": "1", "learning_rate": 1e-9, **FAST}
    for name in ("whole", "killed"):
        train(ring(24), out=tmp_path / name, **options)
    whole = train(None, out=tmp_path / "whole", resume=True, epochs=11)
    begun = load_run(tmp_path / "killed").summary.steps
    at = KillAt(begun + steps_more)
    with pytest.raises(KilledError):
        train(None, out=tmp_path / "killed", resume=True, epochs=11, observer=at)
    resumed = train(None, out=tmp_path / "killed", resume=True)
    assert resumed.settings.epochs == 11
    assert told(resumed) == told(whole)
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name])


def test_patience_counts_anew(tmp_path: Path) -> None:
    """With a rate of nothing no validation is better than the first."""
    options = {"patience": 3, "validate_every": "1", "learning_rate": 1e-12, **FAST}
    run = train(ring(24), out=tmp_path / "run", **options)
    assert (run.summary.stopped_by, run.summary.epochs) == ("patience", 4)
    longer = train(None, out=tmp_path / "run", resume=True, patience=4)
    assert (longer.summary.stopped_by, longer.summary.epochs) == ("patience", 8)
    with_epochs = train(None, out=tmp_path / "run", resume=True, epochs=10)
    assert (with_epochs.summary.stopped_by, with_epochs.summary.epochs) == ("epochs", 10)
    assert with_epochs.settings.patience == 4


def test_of_budget_and_epochs_the_one_given_stays() -> None:
    both = make_settings(budget=60.0, epochs=5)
    assert extended(both, {"budget": 60.0}) == both
    assert extended(both, {"budget": "5m"}) == make_settings(budget=300.0)
    assert extended(both, {"epochs": 9}) == make_settings(epochs=9)
    assert extended(both, {"epochs": 9, "budget": 60.0}) == make_settings(epochs=9, budget=60.0)
    assert extended(both, {"patience": 2}) == make_settings(budget=60.0, epochs=5, patience=2)
    assert extended(both, {"budget": None}) == both


def test_a_limit_that_lies_behind_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    train(ring(24), out=tmp_path / "run", epochs=6, **FAST)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    for limit in ({"epochs": 5}, {"epochs": 6, "budget": 1e-9}):
        with pytest.raises(RunError, match=r"is beyond that limit \(.*\): it has had .* a larger"):
            train(None, out=tmp_path / "run", resume=True, **limit)
    with pytest.raises(RunError, match="dim is 8, not 4. Only budget, epochs, patience, threads"):
        train(None, out=tmp_path / "run", resume=True, epochs=9, dim=4)
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_the_state_kept_before_is_the_one_to_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extension that ruins the model ends with the weights that were kept before it."""
    short = train(ring(60, held_out=12), out=tmp_path / "run", epochs=150, **FAST)
    kept = {name: value.clone() for name, value in short.model.state_dict().items()}
    monkeypatch.setattr(StopRule, "rate", lambda *_: 1000.0)
    longer = train(None, out=tmp_path / "run", resume=True, epochs=160)
    assert longer.summary.steps > short.summary.steps
    assert longer.summary.kept_step == short.summary.kept_step
    for run in (longer, load_run(tmp_path / "run")):
        for name, value in run.model.state_dict().items():
            assert torch.equal(value, kept[name])


def test_states_are_judged_by_the_same_triples(tmp_path: Path, graph: Graph) -> None:
    """From epochs to a budget, which would choose another sample, and back."""
    train(graph, out=tmp_path / "run", epochs=2, **FAST)
    folder = RunFolder(tmp_path / "run")
    settings = replace_limits(folder, budget=1e6)
    trainer = Trainer(folder.read_graph(), settings)
    trainer.resume(folder)
    clock = trainer.state.clock
    assert (clock.validation_sample, clock.validations) == (len(graph.valid), 10)
    assert trainer.rule.every_seconds == 1e5
    trainer.share.settle(trainer.model, clock)  # nothing is settled anew
    assert clock.validation_sample == len(graph.valid)

    clock.validation_sample, clock.validations = 2, 5  # as if that was all a budget allowed
    trainer.keeper.save(trainer.state)
    back = Trainer(folder.read_graph(), replace_limits(folder, epochs=30))
    back.resume(folder)
    assert len(back.validation.sample) == 4
    assert back.rule.every_steps == 3 * back.steps_per_epoch
    found = Metrics.of(filtered_ranks(back.model.eval(), back.validation.sample, graph.known()))
    assert back.validation.metrics(back.model) == found.as_dict()


def replace_limits(folder: RunFolder, **limits: object) -> Any:
    return extended(folder.read_settings(), limits)

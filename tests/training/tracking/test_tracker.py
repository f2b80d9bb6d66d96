"""What a tracker is told, and what happens when it fails."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

import hale
from hale.data.graph import Graph
from hale.errors import HaleWarning, InputError, MissingExtraError, UnknownNameError
from hale.runs.run import Summary
from hale.training import tracking
from hale.training.tracking import TRACKERS, tracker
from hale.training.tracking.tracker import Tracker

FAST: dict[str, Any] = {"dim": 8, "batch_size": 32, "queries": 8, "epochs": 4}


class Noted(Tracker):
    """Keeps what it is told."""

    needs = "json"
    extra = "noted"
    notes: ClassVar[list[Any]] = []
    fails_at: ClassVar[str] = ""

    def begin(self, name: str, settings: Mapping[str, Any], folder: Path, step: int) -> None:
        self._fail("begin")
        self.notes.append(("begin", name, settings["dim"], folder, step))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._fail("log")
        self.notes.append((step, dict(values)))

    def end(self, summary: Summary | None) -> None:
        self._fail("end")
        self.notes.append(("end", None if summary is None else summary.stopped_by))

    @classmethod
    def where(cls, folder: Path) -> str:
        return f"see {folder}"

    def _fail(self, where: str) -> None:
        if self.fails_at == where:
            raise OSError("the server is gone")


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[Noted]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(TRACKERS, "noted", Noted)
    monkeypatch.setattr(Noted, "notes", [])
    return Noted


def test_settings_losses_and_validations_by_their_names(noted: type[Noted], graph: Graph) -> None:
    run = hale.train(graph, out="runs/x", track="noted", validate_every=2, **FAST)
    first, *numbers, last = noted.notes
    assert first == ("begin", "x", 8, Path("runs/x"), 0)
    assert last == ("end", "epochs")
    steps = [step for step, _ in numbers]
    assert steps == sorted(steps)
    for record in run.history:
        (told,) = [values for step, values in numbers if step == record.step and len(values) > 3]
        assert told["valid/mrr"] == record.metrics["mrr"]
        assert told["valid/hits_at_10"] == record.metrics["hits@10"]
        assert told["loss/alignment"] == record.losses["alignment"]
        assert told["learning_rate"] == record.learning_rate
        assert told["epoch"] == record.epoch


def test_losses_between_validations_now_and_then(
    noted: type[Noted], graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracker, "SECONDS_BETWEEN", 0.0)
    run = hale.train(graph, track="noted", **FAST)
    losses = [step for step, values in noted.notes[1:-1] if len(values) == 2]
    assert losses == [*range(1, run.summary.steps + 1)]
    noted.notes.clear()
    monkeypatch.setattr(tracker, "SECONDS_BETWEEN", 1e9)
    hale.train(graph, track="noted", **FAST)
    assert [step for step, values in noted.notes[1:-1] if len(values) == 2] == []


def test_a_run_in_memory_has_a_folder_for_it(noted: type[Noted], graph: Graph) -> None:
    run = hale.train(graph, track="noted", **FAST)
    assert run.path is None
    folders = [Path("runs/ring-rotl-8-noted"), Path("runs/ring-rotl-8-noted-2")]
    assert noted.notes[0][3] == folders[0]
    hale.train(graph, track="noted", **FAST)
    assert [note[3] for note in noted.notes if note[0] == "begin"] == folders


def test_a_run_that_goes_on_says_from_where(noted: type[Noted], graph: Graph) -> None:
    run = hale.train(graph, out="runs/x", **FAST)
    hale.train(None, out="runs/x", resume=True, track="noted")
    assert noted.notes[0] == ("begin", "x", 8, Path("runs/x"), run.summary.steps)


def test_an_error_in_training_is_told(
    noted: type[Noted], graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hale.training.trainer.Trainer._validate", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        hale.train(graph, track="noted", **FAST)
    assert noted.notes[-1] == ("end", None)


@pytest.mark.parametrize("where", ["log", "end"])
def test_a_tracker_that_fails_does_not_end_a_run(
    noted: type[Noted], graph: Graph, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Noted, "fails_at", where)
    with pytest.warns(HaleWarning, match="tracking by noted ended: the server is gone") as told:
        run = hale.train(graph, track="noted", **FAST)
    assert len(told) == 1
    assert run.summary.stopped_by == "epochs"


def test_one_that_cannot_begin_is_an_error(
    noted: type[Noted], graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Noted, "fails_at", "begin")
    with pytest.raises(InputError, match="Tracking by noted cannot begin: the server is gone"):
        hale.train(graph, track="noted", **FAST)


def test_unknown_and_missing_ones_are_told_before_the_graph_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(UnknownNameError, match="Unknown tracker 'mlfow'. Did you mean 'mlflow'"):
        hale.train("no such file.tsv", track="mlfow")
    for name in ("tensorboard", "mlflow", "wandb"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingExtraError, match=rf"pip install 'hale-kge\[{name}\]'"):
            hale.train("no such file.tsv", track=name)


def test_every_tracker_has_its_extra() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    for name, kind in tracking.TRACKERS.items():
        assert kind.extra == name
        assert f"\n{name} = [" in text

"""Runs in memory that get a folder, their vectors, and how they show themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import hale
from hale.data.graph import Graph
from hale.errors import InputError, RunError, UnknownNameError
from hale.runs.folder import RunFolder
from hale.runs.run import Run, open_run
from hale.runs.training_curve import curve_svg
from tests.line_run import line_run

FAST: dict[str, Any] = {"dim": 8, "batch_size": 32, "queries": 8}


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def without_times(text: bytes) -> Any:
    """What is told of a run, but for the seconds that it took."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            kept = {k: v for k, v in value.items() if "seconds" not in k and k != "checksum"}
            return {k: strip(v) for k, v in kept.items()}
        return [strip(one) for one in value] if isinstance(value, list) else value

    lines = [text] if text.startswith(b"{\n") else text.splitlines()
    return strip([json.loads(line) for line in lines])


@pytest.mark.parametrize(
    ("quality", "kept_step"),
    [([0.1, 0.2, 0.3, 0.4], 12), ([0.1, 0.9, 0.2, 0.3], 6)],
    ids=["last is kept", "an earlier one is kept"],
)
def test_a_saved_run_is_the_one_that_training_would_have_left(
    graph: Graph,
    tmp_path: Path,
    quality: list[float],
    kept_step: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = iter(quality * 2)
    monkeypatch.setattr(
        "hale.evaluation.validation.Validation.metrics", lambda *_: {"mrr": next(found)}
    )
    how: dict[str, Any] = {"epochs": 4, "validate_every": 1, **FAST}
    lived = hale.train(graph, out=tmp_path / "lived", **how)
    run = hale.train(graph, **how)
    assert (run.summary.kept_step, run.summary.steps) == (kept_step, 12)
    kept = {name: value.clone() for name, value in run.model.state_dict().items()}
    run.save(tmp_path / "saved")
    assert run.path == tmp_path / "saved"
    for name, value in run.model.state_dict().items():
        assert torch.equal(value, kept[name])
        assert torch.equal(value, lived.model.state_dict()[name])
    left, saved = files(tmp_path / "lived"), files(tmp_path / "saved")
    assert left.keys() == saved.keys()
    for name in ("entities.txt", "relations.txt", "labels.tsv"):
        assert left[name] == saved[name]
    for name in ("metrics.json", "history.jsonl"):
        assert without_times(left[name]) == without_times(saved[name])
    for name in ("model.safetensors", "checkpoint.safetensors"):
        one, about = RunFolder(tmp_path / "lived").read_tensors(name)
        other, about_other = RunFolder(tmp_path / "saved").read_tensors(name)
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one), name
        assert about.get("step") == about_other.get("step")
    again = hale.load_run(tmp_path / "saved")
    assert again.summary == run.summary
    assert again.history == run.history
    assert torch.equal(again.model.entities(), run.model.entities())


def test_a_saved_run_is_gone_on_with_as_if_it_had_lived_there(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after two epochs, saved, resumed: the bits of a run that was never stopped."""
    from hale.training.trainer import Trainer

    whole = hale.train(graph, epochs=4, validate_every=2, seed=3, **FAST)
    step, steps = Trainer._step, 0

    def interrupted(self: Trainer) -> Any:
        nonlocal steps
        steps += 1
        if steps == self.steps_per_epoch * 2:
            import signal

            signal.raise_signal(signal.SIGINT)
        return step(self)

    monkeypatch.setattr(Trainer, "_step", interrupted)
    half = hale.train(graph, epochs=4, validate_every=2, seed=3, **FAST)
    assert half.summary.stopped_by == "interrupt"
    monkeypatch.undo()
    half.save(tmp_path / "half")
    done = hale.train(None, out=tmp_path / "half", resume=True)
    assert done.summary.steps == whole.summary.steps
    assert torch.equal(done.model.entities(), whole.model.entities())


def test_nothing_is_overwritten_unless_asked(graph: Graph, tmp_path: Path) -> None:
    run = hale.train(graph, epochs=1, **FAST)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(RunError, match="exists"):
        run.save(tmp_path / "mine")
    with pytest.raises(RunError, match="is not a run, so it is not overwritten"):
        run.save(tmp_path / "mine", overwrite=True)
    assert run.path is None
    run.save(tmp_path / "x")
    other = hale.train(graph, epochs=2, **FAST)
    with pytest.raises(RunError, match="exists"):
        other.save(tmp_path / "x")
    assert hale.load_run(tmp_path / "x").settings.epochs == 1
    other.save(str(tmp_path / "x"), overwrite=True)
    assert hale.load_run(tmp_path / "x").settings.epochs == 2


def test_a_save_that_fails_leaves_nothing(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = hale.train(graph, epochs=1, **FAST)
    monkeypatch.setattr("hale.training.checkpoint.save", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run.save(tmp_path / "x")
    assert not (tmp_path / "x").exists()
    assert run.path is None
    monkeypatch.undo()
    run.save(tmp_path / "x")
    assert hale.load_run(tmp_path / "x").summary == run.summary


def test_a_run_with_a_folder_is_copied(graph: Graph, tmp_path: Path) -> None:
    run = hale.train(graph, epochs=1, out=tmp_path / "x", **FAST)
    hale.calibrate(run)
    run.save(tmp_path / "y")
    assert files(tmp_path / "x") == files(tmp_path / "y")
    assert "calibration.json" in files(tmp_path / "y")
    assert run.path == tmp_path / "x"
    with pytest.raises(RunError, match="lives in .* already"):
        run.save(tmp_path / "x", overwrite=True)
    hale.train(graph, epochs=2, out=tmp_path / "x", overwrite=True, **FAST)
    with pytest.raises(RunError, match="was replaced or trained on"):
        run.save(tmp_path / "z")


def test_a_run_made_by_hand_is_saved_too(tmp_path: Path) -> None:
    run = line_run()
    run.origin = [{"from": None}]
    run.save(tmp_path / "line")
    again = hale.load_run(tmp_path / "line")
    assert again.summary == run.summary
    assert again.origin == run.origin
    assert torch.equal(again.model.entities(), run.model.entities())


def test_an_update_in_memory_is_saved(graph: Graph, tmp_path: Path) -> None:
    old = hale.train(graph, epochs=1, **FAST)
    new = hale.update(old, [("new", "next", "e000")], epochs=1)
    new.save(tmp_path / "new")
    again = hale.load_run(tmp_path / "new")
    assert again.origin[0]["added"] == 1
    assert torch.equal(again.model.entities(), new.model.entities())


def test_vectors_have_names() -> None:
    run = line_run()
    vectors = run.vectors()
    assert isinstance(vectors.array, np.ndarray)
    assert vectors.array.shape == (20, 2)
    assert vectors.names[3] == "p3"
    assert vectors["p3"].tolist() == [3, 0]
    assert vectors["two words"].tolist() == [2, 0]  # by its label
    assert vectors[["p1", "p5"]].tolist() == [[1, 0], [5, 0]]
    assert len(vectors) == 20
    assert np.asarray(vectors).shape == (20, 2)
    with pytest.raises(UnknownNameError, match="Did you mean 'p1'"):
        vectors["P1x"]
    assert repr(vectors) == "Vectors(entity: 20 x 2)"


def test_vectors_are_the_models_own_and_not_to_be_written() -> None:
    run = line_run()
    array = run.vectors().array
    assert np.shares_memory(array, run.model.entity.weight.detach().numpy())
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1.0
    run.model.entity.weight.data[0, 0] = 7.0  # the model is not locked by it
    assert array[0, 0] == 7.0


def test_parameters_of_relations() -> None:
    run = line_run()
    assert run.tables == {"entity": (20, 2), "free_scale": (4, 1), "shift": (4, 2)}
    shifts = run.vectors("shift")
    assert tuple(shifts.names) == ("next", "twice", "next^-1", "twice^-1")
    assert shifts["twice"].tolist() == [2, 0]
    assert shifts["twice^-1"].tolist() == [-2, 0]
    with pytest.raises(UnknownNameError, match="Did you mean 'shift'"):
        run.vectors("shifts")


def test_a_frame_of_vectors() -> None:
    frame = line_run().vectors("shift").to_polars()
    assert frame["name"].to_list()[:2] == ["next", "twice"]
    assert frame.schema["vector"] == pl.Array(pl.Float32, 2)
    assert frame["vector"].to_list()[1] == [2.0, 0.0]
    pytest.importorskip("pandas")
    assert line_run().vectors().to_pandas()["vector"][3].tolist() == [3.0, 0.0]


def test_wide_numbers_stay_wide(graph: Graph) -> None:
    run = hale.train(graph, epochs=1, precision="float64", **FAST)
    assert run.vectors().array.dtype == np.float64
    assert run.vectors().to_polars().schema["vector"] == pl.Array(pl.Float64, 8)


def test_one_door_opens_runs(tmp_path: Path) -> None:
    run = line_run()
    assert open_run(run) is run
    run.save(tmp_path / "line")
    for path in (tmp_path / "line", str(tmp_path / "line")):
        assert isinstance(open_run(path), Run)
    with pytest.raises(InputError, match="Expected a run or the path of its folder, got int"):
        open_run(3)
    with pytest.raises(RunError, match="There is no run"):
        open_run(tmp_path / "nowhere")


def test_a_notebook_shows_the_curve_and_the_metrics(graph: Graph) -> None:
    run = hale.train(graph, epochs=4, validate_every=1, **FAST)
    run.save_metrics("test", hale.evaluate(run).as_dict())
    shown = run._repr_html_()
    assert shown.count("<circle") == len(run.history) == 4
    assert "test split" in shown
    assert "validation sample" in shown
    assert repr(run) in shown.replace("&#x27;", "'")
    assert "<svg" not in line_run()._repr_html_()  # of no validation there is no curve


def test_the_curve_goes_from_left_to_right_and_up_to_the_best() -> None:
    from hale.runs.run import Record

    def record(seconds: float, mrr: float | None) -> Record:
        return Record(1, 1.0, seconds, 0.1, {}, {} if mrr is None else {"mrr": mrr})

    drawn = curve_svg([record(0, 0.0), record(5, 0.5), record(7, None), record(10, 0.25)])
    assert 'points="24.0,96.0 180.0,24.0 336.0,60.0"' in drawn
    assert curve_svg([record(1, 0.5)]) == ""
    flat = curve_svg([record(0, 0.0), record(0, 0.0)])  # nothing to divide by
    assert 'points="24.0,96.0 24.0,96.0"' in flat

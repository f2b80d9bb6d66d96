"""One writer at a time, told plainly; the lock of a dead process is nobody's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hale.data.graph import Graph
from hale.errors import RunError
from hale.evaluation.calibration import calibrate
from hale.runs.folder import RunFolder
from hale.runs.lock import writing_run
from hale.runs.run import load_run
from hale.settings import Settings
from hale.training.start import train
from hale.training.update.updater import update

HOLD = """
import sys, time
from hale.runs.folder import RunFolder
from hale.runs.lock import writing_run
with writing_run(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> subprocess.Popen[str]:
    """Another process that writes the run."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process  # type: ignore[misc]
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_run_that_another_writes_is_refused(
    graph: Graph, tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    """A trains, B overwrites, A finishes: B's settings with A's weights, if both could."""
    path = tmp_path / "run"
    small = {"epochs": 1, "dim": 4, "batch_size": 16}
    with pytest.raises(RunError, match="Another process is writing the run"):
        train(graph, out=path, **small)
    assert not path.exists()
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    run = train(graph, out=path, **small)  # a stale lock is taken over
    assert run.summary.stopped_by == "epochs"


def test_every_way_to_write_a_run_asks_for_it(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "run"
    small = {"epochs": 1, "dim": 4, "batch_size": 16}
    train(graph, out=path, **small)
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    code = HOLD.replace("time.sleep(60)", "sys.stdin.read()")
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        run = load_run(path)  # reading is free
        for write in (
            lambda: train(graph, out=path, overwrite=True, **small),
            lambda: train(None, out=path, resume=True),
            lambda: update(run, [("e000", "next", "e005")], epochs=1, out=path, overwrite=True),
            lambda: calibrate(run),
            lambda: run.save_metrics("test", {"mrr": 1.0}),
        ):
            with pytest.raises(RunError, match="Another process is writing"):
                write()
        other.communicate("")
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def is_free(path: Path) -> bool:
    """Whether another process may write the run now."""
    code = HOLD.replace("time.sleep(60)", "pass")
    other = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, check=False
    )
    return other.returncode == 0


def test_one_process_may_hold_it_within_itself(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with writing_run(path):
        with writing_run(path):
            pass
        assert not is_free(path), "the inner one gave up its own hold only"
    assert is_free(path)


SMALL = {"epochs": 1, "dim": 4, "batch_size": 16}


def test_a_run_replaced_before_it_is_resumed_is_resumed_as_it_is(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is resumed is read under the lock: another process cannot slip in between."""
    path = tmp_path / "run"
    train(graph, out=path, **SMALL)
    read = RunFolder.read_settings

    def held(self: RunFolder) -> Settings:
        code = HOLD.replace("time.sleep(60)", "pass")
        other = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
        )
        assert "Another process is writing the run" in other.stderr
        return read(self)

    monkeypatch.setattr(RunFolder, "read_settings", held)
    train(None, out=path, resume=True)


def test_what_was_found_for_a_run_is_not_kept_with_its_successor(
    graph: Graph, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    train(graph, out=path, **SMALL)
    old = load_run(path)
    train(graph, out=path, overwrite=True, seed=1, **SMALL)
    before = (path / "metrics.json").read_bytes()
    for write in (
        lambda: old.save_metrics("test", {"mrr": 1.0}),
        lambda: calibrate(old),
        lambda: update(old, [("e000", "next", "e005")], epochs=1, out=path, overwrite=True),
    ):
        with pytest.raises(RunError, match="was replaced or trained on since it was loaded"):
            write()
    assert (path / "metrics.json").read_bytes() == before
    load_run(path).save_metrics("test", {"mrr": 0.5})


def test_a_parent_that_nobody_may_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with writing_run(tmp_path / "run"):
        assert (tmp_path / "run" / ".lock").exists()
    assert not (tmp_path / ".run.lock").exists()


def test_two_who_evaluate_a_run_at_once_keep_both_reports(graph: Graph, tmp_path: Path) -> None:
    """Each has the reports of when it loaded the run; the second must not write them again."""
    path = tmp_path / "run"
    train(graph, out=path, **SMALL)
    load_run(path).save_metrics("test", {"mrr": 0.1})
    one, other = load_run(path), load_run(path)
    one.save_metrics("valid", {"mrr": 0.25})
    one.save_metrics("test", {"mrr": 0.2})
    other.save_metrics("train", {"mrr": 0.5})
    reports = {"test": {"mrr": 0.2}, "valid": {"mrr": 0.25}, "train": {"mrr": 0.5}}
    assert load_run(path).metrics == other.metrics == reports
    other.save_metrics("test", {"mrr": 0.3})
    assert load_run(path).metrics == reports | {"test": {"mrr": 0.3}}


def test_a_report_leaves_what_others_wrote_of_the_training(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "run"
    train(graph, out=path, **SMALL)
    one, other = load_run(path), load_run(path)
    one.summary = replace(one.summary, seconds=12.0)  # it was gone on with; the state kept is one
    one.save_summary()
    other.save_metrics("test", {"mrr": 0.5})
    assert load_run(path).summary.seconds == 12.0

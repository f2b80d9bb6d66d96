"""Honest states as a user meets them: interrupts, places that cannot be written, damaged runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hale as api
from tests.cli.invoke import FAST, assert_refused, hale
from tests.conftest import ring


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a run, facts, and a file where a folder would have to be."""
    monkeypatch.chdir(tmp_path)
    api.train(ring(24), epochs=2, dim=8, batch_size=32, queries=8, out="run")
    Path("facts.tsv").write_text("e023\tnext\tnew\n")
    Path("file").write_text("in the way")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "none-such-graph", "--epochs", "1", "--out", "file/run"],
        ["update", "run", "none-such-facts", "--epochs", "1", "--out", "file/run"],
        ["predict", "none-such-run", "--head", "a", "--relation", "r", "--out", "file/x.csv"],
        ["discover", "none-such-run", "--out", "file/x.csv"],
        ["classify", "none-such-run", "facts.tsv", "--out", "file/x.csv"],
        ["export", "none-such-run", "--out", "file/vectors"],
    ],
)
def test_an_unwritable_place_is_told_before_anything_is_read(
    here: Path, arguments: list[str]
) -> None:
    """The other fault of each would come from reading."""
    result = hale(*arguments)
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
    assert "none-such" not in result.stderr
    assert result.stdout == ""


def test_a_path_that_no_system_takes_is_one_message(here: Path) -> None:
    asked = ["predict", "x" * 5000, "--head", "e001", "--relation", "next"]
    assert_refused(asked, "x" * 300 + "...: File name too long.")


def test_swapped_names_and_other_weights_stop_an_answer(here: Path) -> None:
    asked = ["predict", "run", "--head", "e001", "--relation", "next"]
    names = Path("run/entities.txt").read_text()
    Path("run/entities.txt").write_text(names.replace("e001\ne002", "e002\ne001"))
    assert_refused(asked, "entities.txt is not the file that it was made with")
    Path("run/entities.txt").write_text(names)
    api.train(ring(24), epochs=2, dim=8, batch_size=32, queries=8, seed=1, out="other")
    shutil.copy("other/model.safetensors", "run")
    assert_refused(asked, "belongs to another run")


@pytest.mark.filterwarnings("default::hale.errors.HaleWarning")
def test_damaged_metrics_do_not_stop_an_answer(here: Path) -> None:
    Path("run/metrics.json").write_text("{")
    result = hale("predict", "run", "--head", "e001", "--relation", "next")
    assert result.exit_code == 0
    assert result.stderr.count("warning:") == 1
    assert "metrics.json cannot be read" in result.stderr.replace("\n", " ")


def test_a_run_is_extended(here: Path) -> None:
    result = hale("train", "--resume", "--epochs", 5, "--out", "run")
    assert result.exit_code == 0, result.stderr
    assert "stopped by epochs" in result.stderr
    assert "(5.0 epochs" in result.stderr
    assert "took " in result.stderr.splitlines()[-1]
    refused = hale("train", "--resume", "--epochs", 3, "--out", "run")
    assert refused.exit_code == 2
    assert "is beyond that limit" in refused.stderr
    assert hale("train", "--resume", "--dim", 4, "--out", "run", *FAST[2:]).exit_code == 2


def test_an_interrupt_within_an_import_ends_at_once(tmp_path: Path) -> None:
    """Even where the module that is imported would swallow it; elsewhere it is an exception."""
    (tmp_path / "swallows.py").write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "    for _ in range(9): pass\nexcept KeyboardInterrupt:\n    pass\n"
    )
    start = "import os, signal\nfrom hale.cli import interrupt\n"
    start += "signal.signal(signal.SIGINT, interrupt)\n"
    kill = "try:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt:\n"
    path = os.pathsep.join([str(tmp_path), *sys.path])
    for code, status, told in (
        ("import swallows\n", 130, "interrupted\n"),
        (kill + "    raise SystemExit(7)\n", 7, ""),
    ):
        done = subprocess.run(
            [sys.executable, "-c", start + code],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert (done.returncode, done.stderr) == (status, told)

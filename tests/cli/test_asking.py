"""What a run says to several processes, and what it does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from hale.cli.asking import refuse_ranks
from hale.training.start import train
from tests.conftest import ring


def test_what_needs_all_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(typer.BadParameter, match="hale why is for one process"):
        refuse_ranks("why")
    refuse_ranks("evaluate")
    monkeypatch.setenv("WORLD_SIZE", "1")
    refuse_ranks("why")


def hale(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hale", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})


def test_two_ranks_answer_as_one(tmp_path: Path) -> None:
    """Each command prints once, and a table is written once."""
    run = str(tmp_path / "run")
    train(ring(96), out=run, model="rote", dim=8, epochs=3, batch_size=64, threads=1)
    asked = ["predict", run, "--head", "e003", "--relation", "next", "--json"]
    one, two = hale(*asked), hale(*asked, "--ranks", "2")
    assert two.returncode == 0, two.stderr
    assert json.loads(two.stdout) == json.loads(one.stdout)
    written = [tmp_path / "one.tsv", tmp_path / "two.tsv"]
    for path, more in zip(written, ([], ["--ranks", "2"]), strict=True):
        done = hale("discover", run, "-k", "20", "--out", str(path), *more)
        assert done.returncode == 0, done.stderr
    assert written[0].read_text() == written[1].read_text()


def test_no_run_starts_no_ranks(tmp_path: Path) -> None:
    done = hale("evaluate", str(tmp_path / "none"), "--ranks", "2")
    assert done.returncode == 2
    assert done.stderr.count("error:") == 1

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hale.cli import INTERRUPTED, launch
from tests.cli.invoke import hale


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (["train", "g", "--ranks", "2", "--dim", "8"], ["train", "g", "--dim", "8"]),
        (["train", "--ranks=2", "g"], ["train", "g"]),
        (["train", "g"], ["train", "g"]),
    ],
)
def test_an_option_is_taken_out(given: list[str], left: list[str]) -> None:
    assert launch.without_option(given, "--ranks") == left


def test_torchrun_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _path, arguments: called.append(arguments))
    monkeypatch.setattr(sys, "argv", ["hale", "train", "wordnet", "--ranks", "3"])
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    launch.launch_ranks(3, Path("runs/x"))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    (arguments,) = called
    assert arguments[1:3] == ["-m", "hale.cli.torchrun"]
    at = arguments.index("--nproc-per-node")
    assert arguments[at + 1] == "3"
    assert arguments[-6:] == ["-m", "hale", "train", "wordnet", "--out", "runs/x"]


def test_ctrl_c_as_torchrun_takes_over_is_met_by_it() -> None:
    start = (
        "import os, signal, sys\n"
        "from hale.cli.launch import launch_ranks\n"
        "become = os.execv\n"
        "def interrupted(*arguments):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    become(*arguments)\n"
        "os.execv, sys.argv = interrupted, ['hale', 'train', 'nowhere', '--ranks', '2']\n"
        "launch_ranks(2)\n"
    )
    ended = subprocess.run([sys.executable, "-c", start], check=False, capture_output=True)
    assert ended.returncode == INTERRUPTED
    assert b"Traceback" not in ended.stderr


def test_who_is_a_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    assert not launch.is_rank()
    assert launch.leads()
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("RANK", "1")
    assert launch.is_rank()
    assert not launch.leads()


def test_what_ranks_cannot_train_is_refused_before_any_is_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[object] = []
    monkeypatch.setattr("hale.cli.train.launch_ranks", lambda *how: started.append(how))
    for given in (["--strategy", "samneg"], ["--model", "rgcn"]):
        refused = hale("train", "nowhere", "--ranks", 2, "--out", tmp_path / "run", *given)
        assert refused.exit_code == 2, refused.stderr
        assert "ranks" in refused.stderr
    assert started == []

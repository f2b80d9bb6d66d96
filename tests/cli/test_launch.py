from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

from hale.cli import launch
from hale.errors import GroupError
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


@pytest.fixture
def torchrun(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What torchrun is asked; it starts nothing."""
    called: list[Any] = []
    monkeypatch.setattr("torch.distributed.run.run", called.append)
    monkeypatch.setattr(sys, "argv", ["hale", "train", "wordnet", "--ranks", "3"])
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    return called


def test_torchrun_starts_the_command_once_for_each_rank(torchrun: list[Any]) -> None:
    with pytest.raises(SystemExit) as end:
        launch.launch_ranks(3, Path("runs/x"))
    assert end.value.code == 0
    (asked,) = torchrun
    assert (asked.nproc_per_node, asked.max_restarts) == ("3", 3)
    assert [asked.training_script, *asked.training_script_args] == [
        *(sys.executable, "-m", "hale", "train", "wordnet", "--out", "runs/x")
    ]


def _failing(error: Exception) -> Callable[[object], None]:
    def run(_asked: object) -> None:
        raise error

    return run


@pytest.mark.parametrize(("status", "told"), [(2, SystemExit), (130, SystemExit), (-9, GroupError)])
def test_a_rank_that_was_refused_has_told_why(
    torchrun: list[Any], monkeypatch: pytest.MonkeyPatch, status: int, told: type[BaseException]
) -> None:
    failure = ProcessFailure(local_rank=1, pid=1, exitcode=status, error_file="<none>")
    monkeypatch.setattr(
        "torch.distributed.run.run", _failing(ChildFailedError("hale", {1: failure}))
    )
    with pytest.raises(told) as end:
        launch.launch_ranks(3)
    if isinstance(end.value, SystemExit):
        assert end.value.code == status
    else:
        assert "Rank 1 ended with status -9" in str(end.value)


def test_ctrl_c_ends_ranks_as_it_ends_one_process(
    torchrun: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for sent, told in ((signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, GroupError)):
        monkeypatch.setattr("torch.distributed.run.run", _failing(SignalException("", sent)))
        with pytest.raises(told):
            launch.launch_ranks(3)


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

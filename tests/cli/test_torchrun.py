"""How the end of ranks becomes an exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import NoReturn

import pytest

from hale.cli import launch, torchrun
from hale.errors import GroupError

elastic = pytest.importorskip("torch.distributed.elastic.multiprocessing.api")
rendezvous = pytest.importorskip("torch.distributed.elastic.rendezvous")
run = pytest.importorskip("torch.distributed.run")
OF_A_RANK = (launch.LAUNCHER, torchrun.EACH_ROUND, "RANK", "TORCHELASTIC_RUN_ID")


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "parse_args", lambda given: given)
    monkeypatch.setenv(launch.LAUNCHER, "")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv(torchrun.EACH_ROUND, "1")  # and so put back after


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal(monkeypatch: pytest.MonkeyPatch, number: signal.Signals, status: int) -> None:
    def ended(_given: object) -> NoReturn:
        raise elastic.SignalException("ended", number)

    monkeypatch.setattr(run, "run", ended)
    assert torchrun.main() == status


def test_input_that_a_rank_refuses_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_given: object) -> NoReturn:
        assert os.environ[launch.LAUNCHER] == str(os.getpid())
        launch.do_not_try_again()  # as a rank would, in a process of its own
        raise AssertionError("the signal was not heard")

    monkeypatch.setattr(run, "run", refused)
    before = signal.getsignal(launch.REFUSED)
    try:
        assert torchrun.main() == 2
    finally:
        signal.signal(launch.REFUSED, before)


def test_hosts_that_lost_each_other_say_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(_given: object) -> NoReturn:
        assert os.environ[torchrun.EACH_ROUND] == "1"
        raise rendezvous.RendezvousConnectionError("The connection has failed.\nMore of it.")

    monkeypatch.setattr(run, "run", lost)
    monkeypatch.setattr("sys.argv", ["torchrun", "--nnodes", "1:2"])
    monkeypatch.delenv(torchrun.EACH_ROUND, raising=False)
    assert torchrun.main() == GroupError.exit_status
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.endswith("--resume. (The connection has failed.)\n")


def test_ranks_of_one_machine_meet_as_torchrun_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str | None] = []
    monkeypatch.setattr(run, "run", lambda _given: told.append(os.environ.get(torchrun.EACH_ROUND)))
    monkeypatch.setattr("sys.argv", ["torchrun", "--standalone"])
    monkeypatch.delenv(torchrun.EACH_ROUND, raising=False)
    assert torchrun.main() == 0
    assert told == [None]


def test_ctrl_c_waits_for_a_rank_that_is_still_starting() -> None:
    """Python, before it has come to hale, would answer it with a traceback."""
    start = [sys.executable, "-m", "hale.cli.torchrun", "--standalone", "--no-python"]
    code = (
        "import os, signal, sys\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "from hale.cli import main\n"
        "sys.argv = ['hale', 'models']\n"
        "main()\n"
    )
    ended = subprocess.run(
        [*start, "--local-addr", "127.0.0.1", sys.executable, "-c", code],
        env={key: value for key, value in os.environ.items() if key not in OF_A_RANK},
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 130
    assert ended.stderr == "interrupted\n"


def test_nobody_is_told_under_another_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(launch.LAUNCHER)
    told: list[object] = []
    monkeypatch.setattr(os, "kill", lambda *how: told.append(how))
    launch.do_not_try_again()
    assert not told

"""How the end of ranks becomes an exit status."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

import pytest

from hale.cli import launch, torchrun

elastic = pytest.importorskip("torch.distributed.elastic.multiprocessing.api")
run = pytest.importorskip("torch.distributed.run")


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "parse_args", lambda given: given)
    monkeypatch.setenv(launch.LAUNCHER, "")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")


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


def test_nobody_is_told_under_another_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(launch.LAUNCHER)
    told: list[object] = []
    monkeypatch.setattr(os, "kill", lambda *how: told.append(how))
    launch.do_not_try_again()
    assert not told

"""Long tests of ranks under torchrun, as a person starts them; ``make cluster-test`` runs these.

HALE_KILLS says how many times a rank is killed, fifty unless told.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from hale.lab.bench.kills import TIMEOUT, break_runs, count_kills, digest, ranks_of, torchrun

pytestmark = pytest.mark.cluster

KILLS = int(os.environ.get("HALE_KILLS", "50"))
SETTINGS = ("--model", "rotl", "--dim", "32", "--seed", "1")


def command(ranks: int, out: Path, *options: str, restarts: int = 999) -> list[str]:
    graph = [] if "--resume" in options else ["wordnet", *SETTINGS]
    mine = ["train", *graph, "--out", str(out), "--timeout", f"{TIMEOUT}s", *options]
    return torchrun(ranks, *mine, restarts=restarts)


def run(ranks: int, out: Path, *options: str, threads: int = 1) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    called = command(ranks, out, *options)
    ended = subprocess.run(called, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return digest(out)


def test_three_epochs_of_wordnet_are_the_same_bits_on_one_to_four_ranks(tmp_path: Path) -> None:
    found = {
        (ranks, threads): run(
            ranks, tmp_path / f"{ranks}-{threads}", "--epochs", "3", threads=threads
        )
        for ranks in (1, 2, 3, 4)
        for threads in (1, 2)
    }
    assert len(set(found.values())) == 1, found


def test_ranks_killed_at_any_moment_cost_nothing(tmp_path: Path) -> None:
    found = break_runs(KILLS, tmp_path / "kills.json", tmp_path, follow=print)
    assert count_kills(found) == KILLS
    assert all(run["same"] for run in found["runs"])
    backs = [kill["back"] or 0.0 for run in found["runs"] for kill in run["kills"]]
    assert max(backs) <= 2 * TIMEOUT


def test_a_rank_that_hangs_ends_the_group_in_time(tmp_path: Path) -> None:
    out = tmp_path / "run"
    called = command(2, out, "--epochs", "500", "--validate-every", "500", restarts=0)
    with (tmp_path / "told").open("w+") as told:
        launcher = subprocess.Popen(called, stdout=told, stderr=told)
        while not (out / "ranks").is_dir():
            time.sleep(0.1)
        time.sleep(5)
        victim = ranks_of(out)[1]
        os.kill(victim, signal.SIGSTOP)
        try:
            launcher.wait(timeout=2 * TIMEOUT + 45)  # torchrun gives it half a minute to end
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        assert launcher.returncode != 0
        told.seek(0)
        assert "missing: rank 1" in told.read()


def test_ctrl_c_ends_all_ranks_with_everything_saved(tmp_path: Path) -> None:
    out = tmp_path / "run"
    launcher = subprocess.Popen(command(2, out, "--epochs", "12"))
    while not (out / "ranks").is_dir():
        time.sleep(0.1)
    time.sleep(3)
    launcher.send_signal(signal.SIGINT)
    launcher.wait(timeout=60)
    assert (out / "metrics.json").is_file()
    run(3, out, "--epochs", "12", "--resume")
    assert digest(out) == run(1, tmp_path / "whole", "--epochs", "12")

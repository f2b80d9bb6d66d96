"""Long tests of ranks under torchrun, as a person starts them; ``make cluster-test`` runs these.

HALE_KILLS says how many times a rank is killed, fifty unless told.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hale.runs.folder import MODEL, RunFolder

pytestmark = pytest.mark.cluster

KILLS = int(os.environ.get("HALE_KILLS", "50"))
TIMEOUT = 10.0
SETTINGS = ("--model", "rotl", "--dim", "32", "--seed", "1")


def digest(run: Path) -> str:
    """SHA-256 of a run's weights, in the order of their names."""
    found = hashlib.sha256()
    for name, value in sorted(RunFolder(run).read_tensors(MODEL)[0].items()):
        found.update(name.encode())
        found.update(value.numpy().tobytes())
    return found.hexdigest()


def command(ranks: int, out: Path, *options: str) -> list[str]:
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--no-python"]
    place = ["--local-addr", "127.0.0.1", "--nproc-per-node", str(ranks), "--max-restarts", "999"]
    graph = [] if "--resume" in options else ["wordnet", *SETTINGS]
    mine = [sys.executable, "-m", "hale", "train", *graph, "--out", str(out)]
    return [*start, *place, *mine, "--timeout", f"{TIMEOUT}s", *options]


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


def ranks_of(out: Path) -> dict[int, int]:
    """The processes that train a run, by their rank."""
    found: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            called = (place / "cmdline").read_bytes().split(b"\0")
            told = (place / "environ").read_bytes().split(b"\0")
        except OSError:  # gone
            continue
        if b"torch.distributed.run" not in called and str(out).encode() in called:
            found |= {int(x[5:]): int(place.name) for x in told if x.startswith(b"RANK=")}
    return found


def test_ranks_killed_at_any_moment_cost_nothing(tmp_path: Path) -> None:
    options = ("--epochs", "12", "--validate-every", "1")
    whole = run(2, tmp_path / "whole", *options)
    draws, kills, number = random.Random(0), 0, 0
    while kills < KILLS:
        out = tmp_path / f"broken-{number}"
        number += 1
        launcher = subprocess.Popen(
            command(draws.choice([2, 3]), out, *options),
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while launcher.poll() is None and kills < KILLS:
            until = time.monotonic() + draws.uniform(0.5, 15)
            while time.monotonic() < until and launcher.poll() is None:
                time.sleep(0.05)
            victims = list(ranks_of(out).values())
            if victims and launcher.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(draws.choice(victims), signal.SIGKILL)
                    kills += 1
        assert launcher.wait(timeout=600) == 0
        assert digest(out) == whole
        print(f"{kills} kills, {number} runs")


def test_a_rank_that_hangs_ends_the_group_in_time(tmp_path: Path) -> None:
    out = tmp_path / "run"
    called = command(2, out, "--epochs", "500", "--validate-every", "500")
    called[called.index("999")] = "0"  # restarts
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

"""Long tests of ranks under torchrun, as a person starts them; ``make cluster-test`` runs these.

HALE_KILLS says how many times a rank is killed, fifty unless told.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
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


def begun(called: list[str], out: Path) -> subprocess.Popen[bytes]:
    """Ranks that have saved something, in a process group of their own."""
    started = subprocess.Popen(
        called, env={**os.environ, "OMP_NUM_THREADS": "1"}, start_new_session=True
    )
    while not (out / "ranks" / "checkpoint").is_dir():
        assert started.poll() is None
        time.sleep(0.1)
    return started


def stopped_by(out: Path) -> str:
    return str(json.loads((out / "metrics.json").read_text())["training"]["stopped_by"])


SMALL = ("--dim", "16", "--validate-every", "1", "--epochs")


def test_ctrl_c_ends_all_ranks_with_everything_saved(tmp_path: Path) -> None:
    """As a terminal sends it: to the launcher and to all ranks, which hear of it twice."""
    out = tmp_path / "run"
    mine = ["train", "wordnet", *SETTINGS, *SMALL, "400", "--out", str(out), "--ranks", "2"]
    launcher = begun([sys.executable, "-m", "hale", *mine], out)
    os.killpg(launcher.pid, signal.SIGINT)
    assert launcher.wait(timeout=60) == 130
    assert stopped_by(out) == "interrupt"
    assert not ranks_of(out)


def test_saved_at_four_ranks_and_resumed_at_one_two_and_three(tmp_path: Path) -> None:
    """Saved because of a SIGTERM, as a cluster sends it when the time is over."""
    out = tmp_path / "four"
    launcher = begun(command(4, out, *SMALL, "10"), out)
    launcher.send_signal(signal.SIGTERM)
    launcher.wait(timeout=60)
    assert stopped_by(out) == "interrupt"
    whole = run(1, tmp_path / "whole", *SMALL, "10")
    for ranks in (1, 2, 3):
        copy = tmp_path / f"resumed-{ranks}"
        shutil.copytree(out, copy)
        assert run(ranks, copy, "--resume") == whole


def agent(port: int, out: Path, *options: str) -> subprocess.Popen[bytes]:
    """hale's torchrun on one of up to two hosts, which meet on this machine; a rank on each."""
    meet = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "two"]
    meet += ["--rdzv-conf", "last_call_timeout=5", "--local-addr", "127.0.0.1"]
    ranks = ["--nnodes", "1:2", "--nproc-per-node", "1", "--max-restarts", "3", "--no-python"]
    called = [sys.executable, "-m", "hale.cli.torchrun", *meet, *ranks]
    mine = ["train", "wordnet", *SETTINGS, "--out", str(out), "--timeout", f"{TIMEOUT}s", *options]
    return subprocess.Popen(
        [*called, sys.executable, "-m", "hale", *mine],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )


def rank_of(host: subprocess.Popen[bytes], out: Path) -> int:
    """The process of the one rank that an agent started."""
    for process in ranks_of(out).values():
        told = Path(f"/proc/{process}/stat").read_text()
        if int(told.rpartition(")")[2].split()[1]) == host.pid:
            return process
    raise AssertionError("it has none")


def test_a_host_that_is_lost_is_done_without(tmp_path: Path) -> None:
    """With --nnodes 1:2, where the other one keeps the rendezvous."""
    whole = run(1, tmp_path / "whole", *SMALL, "20")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    out, hosts = tmp_path / "run", []
    try:
        hosts.append(agent(port, out, *SMALL, "20"))
        while not listens(port):
            time.sleep(0.1)
        hosts.append(agent(port, out, *SMALL, "20"))
        while not ((out / "ranks" / "checkpoint").is_dir() and len(ranks_of(out)) == 2):
            assert all(host.poll() is None for host in hosts)
            time.sleep(0.1)
        lost = rank_of(hosts[1], out)
        os.killpg(hosts[1].pid, signal.SIGKILL)
        os.kill(lost, signal.SIGKILL)
        assert hosts[0].wait(timeout=300) == 0
    finally:
        for host in hosts:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(host.pid, signal.SIGKILL)
            host.wait()
        for process in ranks_of(out).values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    assert json.loads((out / "metrics.json").read_text())["training"]["ranks"] == 1
    assert digest(out) == whole


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0

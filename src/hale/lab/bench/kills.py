"""Ranks that are killed: a run that is broken again and again ends as one that was not.

Runs are started by torchrun, on two ranks or three, and a rank drawn at random is killed
(SIGKILL) at a random moment, up to ``EACH`` times a run; torchrun starts the group again. Figures
are kept after every run, so that the next call goes on where one ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from hale.data.files import write_json, write_text
from hale.errors import HaleError
from hale.lab.bench.machine import machine
from hale.runs.file_names import MODEL
from hale.runs.folder import RunFolder

EACH = 5  # kills of a run: what comes between may be a start of processes as well as a step
LATEST = 15.0  # seconds after one kill until the next
TIMEOUT = 10.0  # of ranks that wait
MINE = ("--model", "rotl", "--dim", "16", "--seed", "1", "--epochs", "5", "--validate-every", "1")


class Kill(NamedTuple):
    """The rank that was killed, seconds after the kill before, and until all were there again."""

    rank: int
    after: float
    back: float | None  # of a run that ended before


def digest(run: Path) -> str:
    """SHA-256 of a run's weights, in the order of their names."""
    found = hashlib.sha256()
    for name, value in sorted(RunFolder(run).read_tensors(MODEL)[0].items()):
        found.update(name.encode())
        found.update(value.numpy().tobytes())
    return found.hexdigest()


def torchrun(ranks: int, *hale: str, restarts: int = 999) -> list[str]:
    """The command that starts hale on ranks of this machine."""
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--no-python"]
    place = ["--local-addr", "127.0.0.1", "--nproc-per-node", str(ranks)]
    again = ["--max-restarts", str(restarts)]
    return [*start, *place, *again, sys.executable, "-m", "hale", *hale]


def ranks_of(out: Path) -> dict[int, int]:
    """The processes that train the run in a folder, by their rank."""
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


def break_runs(
    kills: int,
    kept: Path,
    work: Path,
    *,
    graph: str = "wordnet",
    settings: Sequence[str] = MINE,
    seconds: float = float("inf"),
    follow: Callable[[dict[str, Any]], object] | None = None,
) -> dict[str, Any]:
    """Break runs until so many kills are in the file ``kept``, or until time is over.

    Runs are made in the folder ``work``. -> what the file has.
    """
    ends = time.monotonic() + seconds
    result = _begun(kept, [graph, *settings])
    if "whole" not in result:
        out = work / "whole"
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run(  # noqa: S603
            _command(2, out, graph, settings), env=_alone(), capture_output=True, check=False
        )
        if done.returncode:
            raise HaleError(f"The run failed that is not broken:\n{done.stderr[-2000:].decode()}")
        result["whole"] = digest(out)
        write_json(kept, result, indent=1)
    while (rest := kills - count_kills(result)) > 0 and time.monotonic() < ends:
        number = len(result["runs"])
        out = work / f"broken-{number}"
        shutil.rmtree(out, ignore_errors=True)
        found = _broken(out, graph, settings, min(rest, EACH), random.Random(number))  # noqa: S311
        found["same"] = digest(out) == result["whole"]
        result["runs"].append(found)
        write_json(kept, result, indent=1)
        shutil.rmtree(out)
        if follow is not None:
            follow(found)
    return result


def count_kills(result: dict[str, Any]) -> int:
    """The kills of all runs."""
    return sum(len(run["kills"]) for run in result["runs"])


def _begun(kept: Path, trained: list[str]) -> dict[str, Any]:
    """What there is already, of the same runs."""
    fresh = {"machine": machine(), "trained": trained, "timeout": TIMEOUT, "runs": []}
    if not kept.is_file():
        return fresh
    try:
        found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    except ValueError:
        raise HaleError(f"{kept} holds no figures of kills; name another file.") from None
    if found.get("trained") != trained:
        raise HaleError(f"{kept} has figures of other runs; name another file.")
    return found


def _command(ranks: int, out: Path, graph: str, settings: Sequence[str]) -> list[str]:
    return torchrun(ranks, "train", graph, *settings, "--out", str(out), "--timeout", f"{TIMEOUT}s")


def _alone() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def _broken(
    out: Path, graph: str, settings: Sequence[str], most: int, draws: random.Random
) -> dict[str, Any]:
    """A run that is killed at most so often, to its end."""
    kills: list[dict[str, Any]] = []
    ranks, began = draws.choice([2, 3]), time.monotonic()
    with tempfile.TemporaryFile("w+") as told:
        launcher = subprocess.Popen(  # noqa: S603
            _command(ranks, out, graph, settings), env=_alone(), stdout=told, stderr=told
        )
        try:
            while len(kills) < most and launcher.poll() is None:
                kill = _kill(launcher, out, ranks, draws)
                kills += [] if kill is None else [kill._asdict()]
            launcher.wait(timeout=600)
        finally:
            if launcher.poll() is None:
                launcher.kill()
            for process in ranks_of(out).values():
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        if launcher.returncode:
            told.seek(0)
            raise HaleError(f"A run on {ranks} ranks did not recover:\n{told.read()[-2000:]}")
    return {"ranks": ranks, "kills": kills, "seconds": time.monotonic() - began}


def _kill(
    launcher: subprocess.Popen[bytes], out: Path, ranks: int, draws: random.Random
) -> Kill | None:
    """Kill a rank after a while; None where there was none."""
    after = draws.uniform(0.5, LATEST)
    with suppress(subprocess.TimeoutExpired):
        launcher.wait(after)
    before = ranks_of(out)
    if not before:
        return None
    rank = draws.choice(sorted(before))
    try:
        os.kill(before[rank], signal.SIGKILL)
    except ProcessLookupError:
        return None
    killed = time.monotonic()
    while launcher.poll() is None:
        now = ranks_of(out)
        if len(now) == ranks and not set(before.values()) & set(now.values()):
            return Kill(rank, after, time.monotonic() - killed)
        time.sleep(0.05)
    return Kill(rank, after, None)


def write_kills_page(result: dict[str, Any], page: Path) -> None:
    """The page of a result."""
    runs, about = result["runs"], result["machine"]
    backs = [kill["back"] for run in runs for kill in run["kills"] if kill["back"] is not None]
    longest = max(backs, default=0.0)
    same = sum(run["same"] for run in runs)
    lines = [
        "# Ranks, killed",
        "",
        "Written by `hale bench kills` from kills.json beside it. Runs of "
        f"`hale train {' '.join(result['trained'])}` under torchrun on two ranks or three, of "
        "which one drawn at random is killed (SIGKILL) half a second to "
        f"{LATEST:g} s after the kill before, at most {EACH} times a run, whatever it is doing: "
        "starting, training, ranking or saving. torchrun starts the group again, from the last "
        f"checkpoint. Machine: {about['cpu']}, {about['cores']} cores, torch {about['torch']}.",
        "",
        "| | |",
        "|---|---|",
        f"| kills | {count_kills(result)} |",
        f"| runs | {len(runs)} |",
        f"| runs whose weights are those of a run that was not broken, by SHA-256 | {same} |",
        f"| longest time from a kill until all ranks were there again | {longest:.1f} s |",
        f"| two timeouts (`--timeout {result['timeout']:g}s`) | {2 * result['timeout']:g} s |",
        "",
        "| run | ranks | killed | longest way back, s | the run, s | weights |",
        "|---|---|---|---|---|---|",
    ]
    for number, run in enumerate(runs):
        times = [kill["back"] for kill in run["kills"] if kill["back"] is not None]
        killed = ", ".join(f"rank {kill['rank']}" for kill in run["kills"])
        weights = "the same" if run["same"] else "**others**"
        lines.append(
            f"| {number} | {run['ranks']} | {killed} | {max(times, default=0.0):.1f} | "
            f"{run['seconds']:.0f} | {weights} |"
        )
    write_text(page, "\n".join(lines) + "\n")

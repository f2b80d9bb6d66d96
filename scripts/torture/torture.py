"""Break hale off at any moment, and see that nothing is lost.

    python scripts/torture/torture.py kills --count 200
    python scripts/torture/torture.py faults --most 40
    python scripts/torture/torture.py power --most 40
    python scripts/torture/torture.py flips --most 500
    python scripts/torture/torture.py page

kills: kill -9 at random moments of every command that writes. faults: the n-th call that changes a
file fails (no room, an error of the disk, read-only; one kind alone: ``--error``), for every n or
``--most`` of them. power: each state that a power cut may leave on the disk (power.py), or
``--most`` of them. After a break the run loads and evaluates, what must not change has not, and the
same command again ends with what one leaves that was never broken (tasks.py). flips: each byte of a
run's files changed, or ``--most`` of a file's (flips.py). What happened goes to
docs/results/torture.jsonl, a line a break or a file, with the commit of the code; ``page`` makes
torture.md of it. Nothing is taken out of the log: of what was tried again the newest counts, and
further kills go on from those in it.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from flips import flips, make_run
from forks import KILLED, Ended, Fault, run, warm_up
from power import Left, after_cuts
from served import known_as_served, serve
from tasks import TASKS, Task, fresh, write_graph
from torture_page import page

RESULTS = Path(__file__).parents[2] / "docs/results"
NOT_KEPT = "not kept with the run: "  # told beside the answer: the command has ended well without
ERRORS = {
    "no room": errno.ENOSPC,
    "disk error": errno.EIO,
    "read-only": errno.EROFS,
    "half written": -errno.ENOSPC,
}


class LostError(Exception):
    """Something was lost, or hale did not say what happened."""


class Stage:
    """A task with its starting folder, and what it leaves when nothing breaks."""

    def __init__(self, task: Task, work: Path, before: Callable[[], None]) -> None:
        self.task = task
        self.before = before
        self.base, self.here = work / "base", work / "here"
        work.mkdir()
        self.base.mkdir()
        write_graph(self.base)
        for command in task.made:
            self.must(command, self.base)
        for name, text in task.given:
            (self.base / name).write_text(text())
        self.old = task.result(self.base) if task.old_or_new else None
        for _ in "once", "warm":  # the second time tells how long it takes
            fresh(self.base, self.here)
            whole = self.must(task.command, self.here, fault=Fault(self.here))
        self.seconds, self.calls = whole.seconds, whole.calls
        self.result = task.result(self.here)

    def must(
        self,
        command: list[str],
        here: Path,
        fault: Fault | None = None,
        record: tuple[Path, Path] | None = None,
    ) -> Ended:
        """A command that has to succeed."""
        ended = run(command, here, before=self.before, fault=fault, record=record)
        if ended.status != 0:
            raise LostError(f"hale {' '.join(command)}: {ended.status}\n{ended.printed[-2000:]}")
        return ended

    def broken(self, **how: object) -> Ended:
        """The command, broken off in a fresh copy of where it starts."""
        fresh(self.base, self.here)
        return run(self.task.command, self.here, before=self.before, **how)  # type: ignore[arg-type]

    def is_done(self) -> None:
        """What must hold once the command has ended as if nothing had been."""
        if (left := self.task.result(self.here)) != self.result:
            raise LostError(f"it had ended with {self.result}, and {left} is on disk")

    def check(self) -> None:
        """What must hold after any break; at its end the work is done."""
        task, here = self.task, self.here
        self.stays()
        if task.old_or_new and task.result(here) not in (self.old, self.result):
            raise LostError("what it writes is neither the old one nor the new one")
        for name, command in task.there:
            if (here / name).exists():
                self.must(command, here)
        before = task.finished(here)
        self.must(task.goes_on(here), here)
        self.stays()
        after = task.finished(here)
        if gone := [name for name, held in before.items() if after.get(name) != held]:
            raise LostError(f"it was finished, and is gone or another: {', '.join(sorted(gone))}")
        if (left := task.result(here)) != self.result:
            raise LostError(f"it ends with {left}, unbroken with {self.result}")

    def stays(self) -> None:
        """What the command must never change is as it was."""
        for name in self.task.stays:
            if (self.here / name).read_bytes() != (self.base / name).read_bytes():
                raise LostError(f"{name} has changed")


def stages(names: list[str], work: Path) -> list[Stage]:
    """All tasks, or those that are named, ready to be broken off."""
    graph = work / "served"
    graph.mkdir()
    write_graph(graph)
    server, port = serve(graph / "graph")
    atexit.register(os.kill, server, signal.SIGKILL)
    before = known_as_served(graph / "graph", port)
    warm_up()
    chosen = [task for task in TASKS if not names or task.name in names]
    return [Stage(task, work / str(i), before) for i, task in enumerate(chosen)]


def attempt(
    stage: Stage, row: dict[str, object], broken: Callable[[], Ended], *, done: bool = False
) -> dict[str, object]:
    """One break, and what came of it; if ``done``, its result must be there already."""
    try:
        ended = broken()
        row |= {"status": ended.status, "lost": None}
        if ended.status != KILLED and not ended.clean:
            raise LostError(f"status {ended.status}:\n{ended.printed[-2000:]}")
        if done or (ended.status == 0 and NOT_KEPT not in ended.printed):
            stage.is_done()
        stage.check()
    except (LostError, OSError, TimeoutError) as error:
        row["lost"] = str(error)
        print(f"LOST {row}", flush=True)
    return row


def kills(count: int, names: list[str], seed: int, work: Path, log: Path) -> None:
    """Kill commands at moments drawn at random, all tasks in turn, until ``count`` were killed."""
    ready = stages(names, work)
    number = Counter(row["break"] for row in logged(log))["kill -9"]
    killed = 0
    while killed < count:
        stage = ready[number % len(ready)]
        draw = random.Random(f"{seed}/{number}")  # noqa: S311
        moment = draw.uniform(0.0, stage.seconds)
        row = {"break": "kill -9", "task": stage.task.name, "number": number, "after": moment}
        add(log, attempt(stage, row, partial(stage.broken, kill_after=moment)))
        number += 1
        if row["status"] == KILLED:  # not ended before
            killed += 1
            if killed % 50 == 0:
                print(f"{killed} of {count} killed", flush=True)


def faults(
    most: int | None,
    names: list[str],
    seed: int,
    work: Path,
    log: Path,
    errors: Sequence[str] = (),
) -> None:
    """Let the n-th change of a file fail, for each n or a sample.

    Errors come in turn, or those that are asked for each at every n.
    """
    draw = random.Random(seed)  # noqa: S311
    for stage in stages(names, work):
        numbers = list(range(1, stage.calls + 1))
        if most is not None and len(numbers) > most:
            numbers = sorted(draw.sample(numbers, most))
        print(f"{stage.task.name}: {len(numbers)} of {stage.calls} calls", flush=True)
        for i, number in enumerate(numbers):
            for words in errors or [[*ERRORS][i % len(ERRORS)]]:
                fault = Fault(stage.here, number, ERRORS[words])
                row = {"break": words, "task": stage.task.name, "number": number, "of": stage.calls}
                add(log, attempt(stage, row, partial(stage.broken, fault=fault)))


def power(most: int | None, names: list[str], seed: int, work: Path, log: Path) -> None:
    """Let the power go at every moment of each command, or at a sample of them."""
    draw = random.Random(seed)  # noqa: S311
    for stage in stages(names, work):
        store = stage.base.with_name("trace")
        store.mkdir()
        fresh(stage.base, stage.here)
        stage.must(stage.task.command, stage.here, record=(stage.here, store))
        *found, done = after_cuts(stage.base, store, stage.here)
        left = numbered(found)
        chosen = [*left]
        if most is not None and len(chosen) > most:
            chosen = sorted(draw.sample(chosen, most))
        print(f"{stage.task.name}: {len(chosen)} of {len(left)} states", flush=True)
        for calls, state in chosen:
            about = {"number": calls, "state": state, "of": len(left)}
            row = {"break": "power cut", "task": stage.task.name, **about}
            add(log, attempt(stage, row, partial(_cut, left[calls, state], stage)))
        row = {"break": "power cut at the end", "task": stage.task.name, "number": done.calls}
        add(log, attempt(stage, row, partial(_cut, done, stage), done=True))


def numbered(found: list[Left]) -> dict[tuple[int, int], Left]:
    """States by the calls before them, and which it is of those that so many calls may leave."""
    so_far: Counter[int] = Counter()
    told = {}
    for state in found:
        so_far[state.calls] += 1
        told[state.calls, so_far[state.calls]] = state
    return told


def _cut(state: Left, stage: Stage) -> Ended:
    state.write(stage.here)
    return Ended(KILLED, "", 0.0)


def flip(most: int | None, names: list[str], seed: int, work: Path, log: Path) -> None:
    """Change bytes of a run's files, all or those that are named; a line a file."""
    made = make_run(work)
    for path in sorted(path for path in made.iterdir() if not names or path.name in names):
        tried = list(flips(made, most=most, seed=seed, only=path.name))
        row: dict[str, object] = {"break": "a wrong byte", "task": path.name, "times": len(tried)}
        row["of"] = path.stat().st_size
        row |= Counter(one.outcome for one in tried if one.lost is None)
        lost = [one for one in tried if one.lost]
        add(log, row | {"lost": str(lost[0]) if lost else None, "losses": len(lost)})
        print(row, *lost[:3], flush=True)


def add(log: Path, row: dict[str, object]) -> None:
    """Append a line to the log, with the commit of the code that was broken off.

    Where this folder lies is of no use to others.
    """
    told = json.dumps(row | {"commit": commit()}).replace(f"{RESULTS.parents[1]}/", "")
    with log.open("a") as file:
        file.write(told + "\n")


def commit() -> str:
    """Of the code that is broken off, as it was at the first call."""
    from hale.lab.paper.commit import commit_of_code

    return commit_of_code()


def logged(log: Path) -> list[dict[str, Any]]:
    """The lines of a log."""
    text = log.read_text() if log.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def preloaded() -> None:
    """Start again with the calls that change files in our hands."""
    built = Path(tempfile.gettempdir()) / f"hale-faults-{os.getuid()}" / "faults.so"
    if str(built) in os.environ.get("LD_PRELOAD", ""):
        return
    built.parent.mkdir(mode=0o700, exist_ok=True)
    source = Path(__file__).with_name("faults.c")
    make = ["cc", "-shared", "-fPIC", "-O1", "-o", str(built), str(source), "-ldl"]
    subprocess.run(make, check=True)  # noqa: S603
    os.environ |= {"LD_PRELOAD": str(built), "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("what", choices=["kills", "faults", "power", "flips", "page"])
    parser.add_argument("--count", type=int, default=200, help="kills that reach their command")
    parser.add_argument("--most", type=int, default=None, help="of each task or file; default: all")
    parser.add_argument("--task", action="append", default=[], help="or file, only; repeatable")
    parser.add_argument(
        "--error", action="append", choices=[*ERRORS], default=[], help="of faults; repeatable"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, default=RESULTS / "torture.jsonl")
    asked = parser.parse_args()
    if asked.what == "page":
        (RESULTS / "torture.md").write_text(page(asked.log))
        return
    preloaded()
    commit()
    began = time.monotonic()
    before = len(logged(asked.log))
    with tempfile.TemporaryDirectory() as work:
        if asked.what == "kills":
            kills(asked.count, asked.task, asked.seed, Path(work), asked.log)
        elif asked.what == "flips":
            flip(asked.most, asked.task, asked.seed, Path(work), asked.log)
        else:
            passes = partial(faults, errors=asked.error) if asked.what == "faults" else power
            passes(asked.most, asked.task, asked.seed, Path(work), asked.log)
    rows = logged(asked.log)[before:]
    lost = sum(row["lost"] is not None for row in rows)
    times = sum(row.get("times", 1) for row in rows)
    print(f"{times} breaks, {lost} lost, {time.monotonic() - began:.0f} s")
    sys.exit(lost > 0)


if __name__ == "__main__":
    main()

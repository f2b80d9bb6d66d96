"""Every command with options drawn at random: no traceback, one message, nothing half-written.

    python scripts/fuzz/commands.py --calls 10000
    python scripts/fuzz/commands.py --show 123      the call of that number, and what it prints

A call is a function of its number. It runs in a fork, in a copy of a small world (world.py), within
bounds of memory and time; after SECONDS it is interrupted, as by Ctrl-C, so that 130 is an end too.
What came of the calls is counted in docs/results/fuzz.json, and the next run goes on from there. A
call that broke a rule stays there with all its words, and is made again as it was by every run
until it breaks none: what a number draws changes with the options that commands have.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import re
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "torture"))
sys.path.insert(0, str(Path(__file__).parent))

from declared import Command, commands
from drawing import draw_call
from forks import MESSAGE, Ended, run, warm_up
from fuzz_page import read_results, write_result
from world import make_world

SECONDS = 1.5  # then Ctrl-C
LIMIT = 20.0  # then it hangs
RANKS_LIMIT = 60.0  # with ranks: torchrun gives one that waits for others 30 s after Ctrl-C
GRACE = 10.0  # for processes that a call started, and some of those with ranks
MEMORY = 3 << 30  # beside what a process has mapped that imported everything
ENDS = (0, 2, 130)
ASIDE = re.compile(r"^\..*\.(new|old|parts|probe)$|^open-.*\.html$|^tmp")
# A search and a table go on where they ended, and have a page of what they have so far.
KEPT = {"tune": ("trials.journal",), "reproduce": (".md", ".png", ".svg")}
Tree = dict[str, bytes | None]


def confine() -> None:
    """What a call's process begins with: bounds, no input, no network."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the back ignores it
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ |= {"BROWSER": "true", "COLUMNS": "100"}
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connect = socket.socket.connect

    def nearby(self: socket.socket, address: Any) -> None:
        if not isinstance(address, tuple) or address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError("no network here")
        connect(self, address)

    def looked_up(host: Any, *rest: Any, **named: Any) -> Any:
        if host not in (None, "", "127.0.0.1", "::1", "localhost", "0.0.0.0"):  # noqa: S104
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(host, *rest, **named)

    look_up = socket.getaddrinfo
    socket.socket.connect = nearby  # type: ignore[method-assign, assignment]
    socket.getaddrinfo = looked_up


def tree(here: Path) -> Tree:
    """All files below a folder and what they hold; folders hold nothing."""
    return {
        str(path.relative_to(here)): path.read_bytes() if path.is_file() else None
        for path in here.rglob("*")
    }


def faults(command: str, ended: Ended, before: Tree, after: Tree, left: int) -> list[str]:
    """What a call did that no call may do."""
    found = []
    if ended.status not in ENDS:
        found.append(f"status {ended.status}")
    if "Traceback" in ended.printed:
        found.append("a traceback")
    messages = len(MESSAGE.findall(ended.printed))
    if messages != (ended.status == 2) and not (messages == 1 and ended.status == 130):
        found.append(f"{messages} messages at status {ended.status}")
    if left:
        found.append(f"{left} processes left behind")
    found += [f"{name} left" for name in after if ASIDE.search(Path(name).name)]
    if ended.status == 2:
        changed = (name for name, held in before.items() if after.get(name, 0) != held)
        found += [f"{name} has changed" for name in changed]
        kept = KEPT.get(command, ())
        found += [f"{one} has come" for one in litter(before, after) if not one.endswith(kept)]
    return found


def litter(before: Tree, after: Tree) -> list[str]:
    """Files that have come; a lock stays beside a run (hale.runs.lock), an empty file."""
    return sorted(
        name
        for name, held in after.items()
        if name not in before and held is not None and not (held == b"" and name.endswith(".lock"))
    )


def end_orphans() -> int:
    """End what calls left running, which is this process's now -> how many there were.

    They have GRACE seconds to end by themselves: Ctrl-C reaches all processes of a call at once.
    """
    late = time.monotonic() + GRACE
    while alive := [child for child in _children() if os.waitpid(child, os.WNOHANG) == (0, 0)]:
        if time.monotonic() > late:
            for child in alive:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            return len(alive)
        time.sleep(0.02)
    return 0


def _children() -> list[int]:
    tasks = Path("/proc/self/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


class Calls:
    """Calls in a world of their own; ``here`` is copied anew when one has changed it."""

    def __init__(self, work: Path) -> None:
        self.base, self.here = work / "base", work / "here"
        self.count = 0
        self.base.mkdir()
        self.known: list[Command] = commands()
        warm_up()
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans come here
        make_world(self.base, self._must)
        self.world = sorted(path.name for path in self.base.iterdir())
        self.before = tree(self.base)
        self._renew()

    def _must(self, argv: list[str]) -> None:
        ended = run(argv, self.base)
        if ended.status:
            raise RuntimeError(f"hale {' '.join(argv)}: {ended.status}\n{ended.printed}")

    def _renew(self) -> None:
        shutil.rmtree(self.here, ignore_errors=True)
        shutil.copytree(self.base, self.here, symlinks=True)

    def argv(self, seed: int, number: int) -> list[str]:
        """The call of a number."""
        draw = random.Random(f"{seed}/{number}")  # noqa: S311
        first = draw.choice(sorted({one.path[0] for one in self.known}))
        below = [one for one in self.known if one.path[0] == first]
        return draw_call(draw, draw.choice(below), self.world)

    def call(self, argv: list[str]) -> tuple[Ended, list[str]]:
        """What came of a call, and what it did that it may not do."""
        self.count += 1
        starts_ranks = any(part.startswith("--ranks") for part in argv)
        patience = GRACE if starts_ranks and self.count % 4 == 0 else SECONDS
        limit = RANKS_LIMIT if starts_ranks else LIMIT
        try:
            ended = run(argv, self.here, before=confine, interrupt_after=patience, limit=limit)
        except TimeoutError:
            ended = Ended(-1, "", LIMIT)
        left = end_orphans()
        after = tree(self.here)
        found = faults(argv[0], ended, self.before, after, left)
        if ended.status == -1:
            found = [f"it hangs: not ended after {limit:g} s"]
        if after != self.before:
            self._renew()
        return ended, found


def shortened(argv: list[str]) -> list[str]:
    """For a page: long values by their length."""
    return [text if len(text) < 200 else f"{text[:20]}... ({len(text):,} long)" for text in argv]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=10_000, help="of this seed, with those before")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of this run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", action="store_true", help="begin to count anew")
    parser.add_argument("--show", type=int, help="one call, and what it prints")
    asked = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    with tempfile.TemporaryDirectory() as work:
        calls = Calls(Path(work))
        if asked.show is not None:
            argv = calls.argv(asked.seed, asked.show)
            ended, found = calls.call(argv)
            print(f"{shortened(argv)}\n{ended.printed[-6000:]}")
            print(f"status {ended.status}, {ended.seconds:.2f} s; {found}")
            return
        sys.exit(several(calls, asked.calls, asked.seconds, asked.seed, asked.fresh))


def several(calls: Calls, count: int, seconds: float, seed: int, fresh: bool) -> bool:
    """Calls until there were ``count`` of them, or the time is up -> whether any breaks a rule.

    What broke one before is called again first, word by word: it may be mended.
    """
    told = {} if fresh else read_results().get("commands", {}).get(str(seed), {})
    number = int(told.get("calls", 0))
    broken: list[dict[str, Any]] = []
    mended: list[dict[str, Any]] = list(told.get("mended", []))
    for one in told.get("broken", []):
        ended, found = calls.call(one["argv"])
        (broken if found else mended).append(one)
        if found:
            print(f"{one['number']} again: {found[:5]}\n{ended.printed[-1500:]}", flush=True)
    ends = {name: Counter(row) for name, row in told.get("ends", {}).items()}
    until = time.monotonic() + seconds

    def tell() -> None:
        rows = {name: dict(row) for name, row in sorted(ends.items())}
        found = {"calls": number, "ends": rows, "broken": broken, "mended": mended}
        write_result("commands", str(seed), found)
        print(f"{number} calls, {len(broken)} broken", flush=True)

    if told.get("broken"):
        tell()
    while number < count and time.monotonic() < until:
        argv = calls.argv(seed, number)
        ended, found = calls.call(argv)
        name = next(one.name for one in calls.known if tuple(argv[: len(one.path)]) == one.path)
        ends.setdefault(name, Counter())[str(ended.status)] += 1
        if found:
            broken.append({"number": number, "argv": argv, "faults": found[:5]})
            print(
                f"{number}: {shortened(argv)}\n  {found[:5]}\n{ended.printed[-1500:]}", flush=True
            )
        number += 1
        if number % 100 == 0 or number == count:
            tell()
    return bool(broken)


if __name__ == "__main__":
    main()

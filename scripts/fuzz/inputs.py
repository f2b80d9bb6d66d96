"""Broken files to everything that reads: hale's own errors and no others, no hang, bounded memory.

    python scripts/fuzz/inputs.py --inputs 100000
    python scripts/fuzz/inputs.py --reader parquet --file crash.bin      one file, and its traceback

Every reader (readers.py) has a process of its own. With atheris, its first LED inputs are led by
which lines of hale they reach; the others are good files changed at random (mutations.py), which is
several times faster and finds what happens inside of libraries. An input is written down before it
is read: one that breaks something is kept below build/fuzz, once for each place that it breaks, and
so is one that ends the process or hangs. How many each reader took is counted in
docs/results/fuzz.json, and the next run goes on from there; what is kept is read again first, and
told no more once nothing breaks.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_page import read_results, write_result
from mutations import MOST, mutated
from readers import Reader, make_readers, world_in

Broken = dict[str, str]  # what broke, and the name of the input that is kept
KEPT = Path(__file__).parents[2] / "build/fuzz"
SECONDS = 5  # then it hangs
LED = 3000
MEMORY_MB = 3000
NAMES = (
    *("text", "tsv", "csv", "json lines", "parquet", "n-triples", "n-quads", "turtle", "trig"),
    *("rdf/xml", "gzip", "bzip2", "xz", "zstd", "zip", "tar", "queries", "queries, csv", "claims"),
    *("align's pairs", "labels", "types", "within", "recipe", "run", "run, resumed"),
    *("review.jsonl", "about.json", "index", "REST bodies", "REST addresses"),
    *("journal", "cells", "ranks", "run, other files", "review forms", "selections"),
    "MCP messages",
)


class Trial:
    """Inputs to one reader: counts them, and keeps those that break something."""

    def __init__(self, reader: Reader, progress: Path) -> None:
        from hale.errors import HaleError

        self.reader, self.progress, self.own = reader, progress, HaleError
        self.at = os.open(input_of(progress), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        self.count = self.refused = 0
        self.broken: dict[str, Broken] = {}
        self.longest = 0.0

    def __call__(self, data: bytes) -> None:
        """One input."""
        began = time.monotonic()
        os.ftruncate(self.at, 0)
        os.pwrite(self.at, data, 0)
        try:
            self.reader.read(data)
        except self.own:
            self.refused += 1
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of a library is not even an Exception
            self._keep(error, data)
        self.longest = max(self.longest, time.monotonic() - began)
        self.count += 1
        if self.count % 100 == 0:
            self.tell()

    def _keep(self, error: BaseException, data: bytes) -> None:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {error}"[:300]
        place = f"{type(error).__name__} {last.filename}:{last.lineno}"
        if place not in self.broken:
            kept = keep(self.reader.name, place, data)
            self.broken[place] = {"what": where, "input": kept.name}
            print(f"BROKEN {self.reader.name}: {where} ({kept})", flush=True)

    def tell(self) -> None:
        """How far it is, for who started this process."""
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        told = {
            "inputs": self.count,
            "refused": self.refused,
            "longest_s": round(self.longest, 2),
            "peak_mb": rss,
            "broken": [*self.broken.values()],
        }
        self.progress.write_text(json.dumps(told))


def input_of(progress: Path) -> Path:
    """Where the input stands that is being read."""
    return progress.with_suffix(".input")


def keep(reader: str, place: str, data: bytes) -> Path:
    """Keep an input that broke a reader, by the place that it broke."""
    folder = KEPT / word(reader)
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{hashlib.sha256(place.encode()).hexdigest()[:12]}.bin"
    kept.write_bytes(data)
    return kept


def confine() -> None:
    """Bound this process's memory beside what it has mapped: what asks for more gets none."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = mapped + (MEMORY_MB << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def read_again(name: str, world: Path, progress: Path, file: Path) -> None:
    """One input that was kept, to a reader in this process."""
    with tempfile.TemporaryDirectory() as work:
        trial = Trial(make_readers(world, Path(work))[name], progress)
        confine()
        signal.alarm(SECONDS)  # ends this process
        trial(file.read_bytes())
        signal.alarm(0)
        trial.tell()


def one_reader(
    name: str, world: Path, count: int, seconds: float, seed: int, progress: Path, led: bool
) -> None:
    """Inputs to a reader in this process, which may well end by it."""
    with tempfile.TemporaryDirectory() as work:
        place = Path(work) / "place"
        place.mkdir()
        if led:
            import atheris

            with atheris.instrument_imports(include=["hale"]):
                reader = make_readers(world, place)[name]
            trial, corpus = Trial(reader, progress), Path(work) / "corpus"
            corpus.mkdir()
            for i, data in enumerate(reader.seeds):
                (corpus / str(i)).write_bytes(data)
            time_left = max(1, int(seconds))  # 0 would be no limit
            limits = [f"-runs={count}", f"-max_total_time={time_left}", f"-timeout={SECONDS}"]
            limits += [f"-rss_limit_mb={MEMORY_MB}", f"-max_len={MOST}", f"-seed={seed + 1}"]
            kept = f"-artifact_prefix={KEPT}/{word(name)}-"
            KEPT.mkdir(parents=True, exist_ok=True)
            atheris.Setup([sys.argv[0], *limits, kept, "-verbosity=0", str(corpus)], trial)
            atheris.Fuzz()
        reader = make_readers(world, place)[name]
        trial = Trial(reader, progress)
        confine()
        draw, until = random.Random(f"{seed}/{name}"), time.monotonic() + seconds  # noqa: S311
        while trial.count < count and time.monotonic() < until:
            data = mutated(draw, reader.seeds)
            signal.alarm(SECONDS)  # ends this process
            trial(data)
        signal.alarm(0)
        trial.tell()


def several(
    names: list[str], world: Path, count: int, seconds: float, led: bool, fresh: bool
) -> bool:
    """All readers in turn, until each has had ``count`` inputs or the time is up."""
    until = time.monotonic() + seconds
    for position, name in enumerate(names):
        share = time.monotonic() + (until - time.monotonic()) / (len(names) - position)
        before = {} if fresh else read_results().get("readers", {}).get(name, {})
        if before.get("broken"):
            before = before | {"broken": still_broken(name, world, before["broken"])}
            write_result("readers", name, before)
        for most, by_coverage in ((LED if led else 0, True), (count, False)):
            wanted = min(most, count) - before.get("inputs", 0)
            left = share - time.monotonic() - 5  # to start
            if wanted <= 0 or left <= 0:
                continue
            found = _inputs(name, world, wanted, left, before.get("inputs", 0), led=by_coverage)
            before = _added(before, found, led=by_coverage)
            write_result("readers", name, before)
            print(name, before, flush=True)
    return any(row["broken"] for row in read_results().get("readers", {}).values())


def still_broken(name: str, world: Path, before: list[Broken]) -> list[Broken]:
    """What breaks a reader yet, of what did; where its input is not here, that is not known."""
    found = []
    for one in before:
        kept = KEPT / word(name) / one["input"]
        if not kept.is_file() or _process(name, world, ["--file", str(kept)])["broken"]:
            found.append(one)
    return found


def _inputs(
    name: str, world: Path, count: int, seconds: float, seed: int, *, led: bool
) -> dict[str, Any]:
    """So many inputs to a reader, in a process of its own -> what it told."""
    asked = ["--inputs", str(count), "--seconds", str(seconds), "--seed", str(seed)]
    return _process(name, world, asked + ([] if led else ["--blind"]))


def _process(name: str, world: Path, asked: list[str]) -> dict[str, Any]:
    """A reader in a process of its own -> what it told; what ended it is kept too."""
    with tempfile.TemporaryDirectory() as work:
        progress = Path(work) / "progress.json"
        always = ["--reader", name, "--world", str(world), "--progress", str(progress)]
        done = subprocess.run(  # noqa: S603
            [sys.executable, __file__, *always, *asked], check=False
        )
        found: dict[str, Any] = {"inputs": 0, "broken": []}
        if progress.exists():
            found = json.loads(progress.read_text())
        if done.returncode:
            what, last = f"the process ended with {done.returncode}", input_of(progress)
            data = last.read_bytes() if last.exists() else b""
            found["broken"].append({"what": what, "input": keep(name, what, data).name})
    return found


def _added(before: dict[str, Any], found: dict[str, Any], *, led: bool) -> dict[str, Any]:
    by_input = {one["input"]: one for one in (*found["broken"], *before.get("broken", []))}
    return {
        "inputs": before.get("inputs", 0) + found["inputs"],
        "led": before.get("led", 0) + (found["inputs"] if led else 0),
        "refused": before.get("refused", 0) + found.get("refused", 0),
        "longest_s": max(before.get("longest_s", 0.0), found.get("longest_s", 0.0)),
        "peak_mb": max(before.get("peak_mb", 0), found.get("peak_mb", 0)),
        "broken": sorted(by_input.values(), key=lambda one: one["what"]),
    }


def word(name: str) -> str:
    """A name as one of a folder."""
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--inputs", type=int, default=100_000, help="to each reader, in all")
    parser.add_argument("--seconds", type=float, default=1e6, help="of this run")
    parser.add_argument("--reader", choices=NAMES, action="append", default=[])
    parser.add_argument("--blind", action="store_true", help="without atheris")
    parser.add_argument("--fresh", action="store_true", help="begin to count anew")
    parser.add_argument("--file", type=Path, help="give this to the reader")
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--world", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--progress", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    led = not asked.blind and importlib.util.find_spec("atheris") is not None
    if asked.progress is not None:
        name, count, until = asked.reader[0], asked.inputs, asked.seconds
        if asked.file is not None:
            read_again(name, asked.world, asked.progress, asked.file)
            return
        one_reader(name, asked.world, count, until, asked.seed, asked.progress, led)
        return
    with tempfile.TemporaryDirectory() as work:
        world = world_in(Path(work))
        if asked.file is not None:
            reader = make_readers(world, Path(tempfile.mkdtemp(dir=work)))[asked.reader[0]]
            print(reader.read(asked.file.read_bytes()))
            return
        names = asked.reader or list(NAMES)
        broken = several(names, world, asked.inputs, asked.seconds, led, asked.fresh)
    sys.exit(broken)


if __name__ == "__main__":
    main()

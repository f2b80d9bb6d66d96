"""Broken files to everything that reads: hale's own errors and no others, no hang, bounded memory.

    python scripts/fuzz/inputs.py --inputs 100000
    python scripts/fuzz/inputs.py --reader parquet --file crash.bin      one file, and its traceback

Every reader (readers.py) has a process of its own. With atheris, its first LED inputs are led by
which lines of hale they reach; the others are good files changed at random (mutations.py), which is
several times faster and finds what happens inside of libraries. An input that
breaks something is kept below build/fuzz, once for each place that it breaks. How many each reader
took is counted in docs/results/fuzz.json, and the next run goes on from there.
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
        self.kept = KEPT / word(reader.name)
        self.count = self.refused = 0
        self.broken: dict[str, str] = {}
        self.longest = 0.0

    def __call__(self, data: bytes) -> None:
        """One input."""
        began = time.monotonic()
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
            self.broken[place] = where
            self.kept.mkdir(parents=True, exist_ok=True)
            name = hashlib.sha256(place.encode()).hexdigest()[:12]
            (self.kept / f"{name}.bin").write_bytes(data)
            print(f"BROKEN {self.reader.name}: {where} ({self.kept / name}.bin)", flush=True)

    def tell(self) -> None:
        """How far it is, for who started this process."""
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        told = {
            "inputs": self.count,
            "refused": self.refused,
            "longest_s": round(self.longest, 2),
            "peak_mb": rss,
            "broken": sorted(self.broken.values()),
        }
        self.progress.write_text(json.dumps(told))


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


def _inputs(
    name: str, world: Path, count: int, seconds: float, seed: int, *, led: bool
) -> dict[str, Any]:
    """So many inputs to a reader, in a process of its own -> what it told."""
    with tempfile.TemporaryDirectory() as work:
        progress = Path(work) / "progress.json"
        asked = ["--reader", name, "--inputs", str(count), "--seconds", str(seconds)]
        asked += ["--seed", str(seed), "--world", str(world), "--progress", str(progress)]
        asked += [] if led else ["--blind"]
        done = subprocess.run([sys.executable, __file__, *asked], check=False)  # noqa: S603
        found: dict[str, Any] = {"inputs": 0, "broken": []}
        if progress.exists():
            found = json.loads(progress.read_text())
    if done.returncode:
        found["broken"].append(f"the process ended with {done.returncode}")
    return found


def _added(before: dict[str, Any], found: dict[str, Any], *, led: bool) -> dict[str, Any]:
    return {
        "inputs": before.get("inputs", 0) + found["inputs"],
        "led": before.get("led", 0) + (found["inputs"] if led else 0),
        "refused": before.get("refused", 0) + found.get("refused", 0),
        "longest_s": max(before.get("longest_s", 0.0), found.get("longest_s", 0.0)),
        "peak_mb": max(before.get("peak_mb", 0), found.get("peak_mb", 0)),
        "broken": sorted({*before.get("broken", []), *found["broken"]}),
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

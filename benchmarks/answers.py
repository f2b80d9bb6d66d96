"""Answers to every query of a graph: time and memory of the commands as a user runs them.

    python benchmarks/answers.py                         all cases on WN18RR, as lines
    python benchmarks/answers.py discover --run RUN      one of them, on a run that is there
    python benchmarks/answers.py --out docs/results/answers.json

Without --run, RotL with d = 32 is trained for 30 s first: the work does not depend on how good
it is. Each case is a process of its own; its time includes the start of Python and the loading of
the run, its peak memory PyTorch. A case written to a file takes the place of its older figures.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hale.lab.bench.machine import machine

CASES: dict[str, tuple[str, ...]] = {
    "discover": ("discover", "--per-query", "10", "--out", "each.parquet"),  # 2RN queries
    "discover-csv": ("discover", "--per-query", "10", "--out", "each.csv"),
    "discover-top": ("discover", "-k", "1000", "--out", "facts.parquet"),  # RN queries
}


def train(graph: str, folder: Path) -> Path:
    """A run to ask, in ``folder``."""
    options = ("--budget", "30s", "--out", str(folder / "run"))
    subprocess.run([sys.executable, "-m", "hale", "train", graph, *options], check=True)
    return folder / "run"


def measure(command: tuple[str, ...], run: Path, folder: Path) -> dict[str, Any]:
    """Run a command on ``run``: seconds, peak memory, and what it says of its output."""
    name, *options = command
    target = folder / options[-1]
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "hale", name, str(run), *options[:-1], str(target), "--json"],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        told = json.loads(child.stdout.read() or "{}")
        _, status, usage = os.wait4(child.pid, 0)  # of this child alone
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    if child.returncode:
        raise SystemExit(f"hale {name} ended with status {child.returncode}")
    to_mb = 1 << 20 if sys.platform == "darwin" else 1 << 10
    counts = {key: value for key, value in told.items() if key not in ("run", "out")}
    return {
        "command": " ".join(("hale", name, "RUN", *options)),
        **counts,
        "seconds": seconds,
        "peak_mb": usage.ru_maxrss / to_mb,
        "file_mb": target.stat().st_size / (1 << 20),
    }


def main() -> None:
    """Measure what is asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("cases", nargs="*", help=f"any of {', '.join(CASES)}")
    parser.add_argument("--graph", default="wn18rr", help="trained on where no --run is given")
    parser.add_argument("--run", type=Path, help="a run to ask instead")
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file as well")
    options = parser.parse_args()
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = options.run or train(options.graph, folder)
        graph = json.loads((run / "settings.json").read_text())["graph"]
        results = {}
        for case in options.cases or CASES:
            found = measure(CASES[case], run, folder)
            results[case] = {"machine": machine(), "graph": graph, **found}
            figures = "  ".join(
                f"{key} {found[key]:,.4g}" for key in ("seconds", "peak_mb", "file_mb")
            )
            print(f"{case:13} {figures}", flush=True)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        before = json.loads(options.out.read_text()) if options.out.exists() else {}
        options.out.write_text(json.dumps({**before, **results}, indent=2) + "\n")


if __name__ == "__main__":
    main()

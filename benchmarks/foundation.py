"""Load, train, rank: the figures that the README cites, each in a process of its own.

    python benchmarks/foundation.py                 all of them, as a table
    python benchmarks/foundation.py load rank       some of them
    python benchmarks/foundation.py --out docs/results/foundation.json

Graphs other than the bundled one are found as `hale` finds them (HALE_DATA, the
cache, a download). Peak memory is that of the whole process, PyTorch included.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

PRELUDE = """
import json, resource, time, warnings
warnings.simplefilter("ignore")
def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
"""

LOAD = """
import hale
began = time.perf_counter()
graph = hale.load({graph!r})
seconds = time.perf_counter() - began
triples = len(graph.train) + len(graph.valid) + len(graph.test)
print(json.dumps(dict(triples=triples, seconds=seconds, peak_mb=peak_mb())))
"""

TRAIN = """
import hale
run = hale.train(hale.load({graph!r}), model="rotl", dim=32, budget={budget!r}, out={out!r},
                 overwrite=True)
report = hale.evaluate(run, "test").overall
print(json.dumps(dict(mrr=report.mrr, hits10=report.hits[10], seconds=run.summary.seconds,
                      steps=run.summary.steps, peak_mb=peak_mb())))
"""

RANK = """
import hale, torch
from hale.evaluation.evaluator import evaluate_model
from hale.models import make_model
graph = hale.load({graph!r})
torch.manual_seed(0)
model = make_model("rotl", graph.size, 32)
times = [evaluate_model(model, graph, "test").seconds for _ in range(5)]
print(json.dumps(dict(triples=len(graph.test), seconds=sorted(times)[2], peak_mb=peak_mb())))
"""


def measure(code: str, **values: object) -> dict[str, Any]:
    """Run a snippet in a fresh process; its last line is its result."""
    script = PRELUDE + code.format(**values)
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "load": lambda: measure(LOAD, graph="wikidata-83k"),
    "rank": lambda: measure(RANK, graph="wn18rr"),
    "train": lambda: measure(TRAIN, graph="wn18rr", budget="120s", out="runs/bench-wn18rr"),
    "demo": lambda: measure(TRAIN, graph="wordnet", budget="60s", out="runs/bench-wordnet"),
}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    names = [
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def main() -> None:
    """Measure what is asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("cases", nargs="*", help=f"any of {', '.join(CASES)}")
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file as well")
    options = parser.parse_args()
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    results: dict[str, Any] = {"machine": machine()}
    for name in options.cases or CASES:
        results[name] = CASES[name]()
        figures = "  ".join(f"{key} {value:,.4g}" for key, value in results[name].items())
        print(f"{name:6} {figures}", flush=True)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()

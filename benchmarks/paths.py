"""What path rules add to vectors: test ranks of runs with and without a second opinion.

    python benchmarks/paths.py --data FOLDER                     a minute on each graph of a folder
    python benchmarks/paths.py --data FOLDER --budget 30s codex-s wn18rr
    python benchmarks/paths.py --run codex-s=runs/mine           take a run that is there
    python benchmarks/paths.py ... --out docs/results            paths.json and .md

Rules are mined from train, and their weight is chosen on at most 1,000 validation triples; the
test triples are looked at once, by both. Four ways to rank each: the vectors alone, with the
cardinality rule, with paths, with both. Beside the MRR stands the half width of a 95 % interval of
the gain by paths, over the test queries' own differences.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hale
from hale.engine.device import use_threads
from hale.evaluation.cardinality_rule import rule_of
from hale.evaluation.metrics import Metrics
from hale.evaluation.ranks import filtered_ranks
from hale.evaluation.second_opinion import Advised, weight_of
from hale.lab.bench.machine import machine
from hale.runs.score_kind import not_in_nats

GRAPHS = ("wn18rr", "codex-s", "codex-m", "fb15k-237")


def measure(run: hale.Run, most: int) -> dict[str, Any]:
    """A run's test queries under the four ways, and what the rules took."""
    begun = time.perf_counter()
    advised = hale.with_paths(run)
    made = time.perf_counter() - begun
    test = run.graph.test
    if len(test) > most:
        places = np.random.default_rng(0).choice(len(test), most, replace=False)
        test = test[np.sort(places)]
    queries = run.graph.both_directions(test)
    ruled = not_in_nats(run.settings, run.model.similarity) is None
    ranks: dict[str, NDArray[np.float64]] = {}
    seconds: dict[str, float] = {}
    known = run.graph.known_answers
    for name, asked in (("vectors", run), ("paths", advised)):
        begun = time.perf_counter()
        ranks[name] = filtered_ranks(asked.model, queries, known)
        seconds[name] = time.perf_counter() - begun
        if ruled:
            rule = rule_of(asked, cardinality=True)
            ranks[f"{name}, cardinality"] = filtered_ranks(asked.model, queries, known, rule=rule)
    ways: dict[str, dict[str, Any]] = {}
    for name, found in ranks.items():
        metrics = Metrics.of(found).as_dict()
        ways[name] = {key: metrics[key] for key in ("mrr", "hits@1", "hits@10")}
    for name in ("", ", cardinality") if ruled else ("",):
        gains = 1 / ranks[f"paths{name}"] - 1 / ranks[f"vectors{name}"]
        half = 1.96 * float(gains.std(ddof=1)) / len(gains) ** 0.5
        ways[f"paths{name}"]["gain"] = [float(gains.mean()), half]
    assert isinstance(advised.model, Advised)
    return {
        "model": run.settings.model,
        "dim": run.settings.dim,
        "training": run.summary.seconds,
        "threads": run.summary.threads,
        "weight": weight_of(advised),
        "rules": len(advised.model.rules),
        "made": made,
        "queries": len(queries),
        "seconds": seconds,
        "ways": ways,
    }


def page(found: dict[str, Any]) -> str:
    """The figures as a page."""
    here = found["machine"]
    lines = [
        "# Path rules beside vectors",
        "",
        f"By `{found['command']}`, on {here['threads']} of {here['cores']} cores ({here['cpu']}).",
        "Rules of up to three facts of train, their weight chosen on at most 1,000 validation",
        "triples ([answers.md](../answers.md#a-second-opinion-by-rules)); test queries in both",
        "directions, filtered, among all entities. The gain is of the MRR, with a 95 % interval",
        "over the queries' own differences; one run each, so it says nothing of other seeds.",
        "",
        "| graph | run | ranked by | MRR | Hits@1 | Hits@10 | gain by paths |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in found["graphs"].items():
        run = f"{one['model']}, d = {one['dim']}, {one['training']:.0f} s"
        for way, figures in one["ways"].items():
            gain = figures.get("gain")
            told = f"{gain[0]:+.4f} ± {gain[1]:.4f}" if gain else ""
            told_way = way.replace("paths", "vectors and paths")
            lines.append(
                f"| {name} | {run} | {told_way} | {figures['mrr']:.4f} | {figures['hits@1']:.4f} | "
                f"{figures['hits@10']:.4f} | {told} |"
            )
    lines += [
        "",
        "| graph | rules | weight | made in | test queries | ranked in, without / with |",
        "|---|---|---|---|---|---|",
    ]
    for name, one in found["graphs"].items():
        seconds = one["seconds"]
        lines.append(
            f"| {name} | {one['rules']:,} | {one['weight']:g} | {one['made']:.1f} s | "
            f"{one['queries']:,} | {seconds['vectors']:.1f} s / {seconds['paths']:.1f} s |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, tell, and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("graphs", nargs="*", default=[])
    parser.add_argument("--data", type=Path, help="folder of graphs, each a folder of its own")
    parser.add_argument("--run", action="append", default=[], help="NAME=FOLDER of a trained run")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--most", type=int, default=5000, help="test triples of a graph")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    use_threads(given.threads)
    runs = dict(one.split("=", 1) for one in given.run)
    names = given.graphs or ([] if runs else list(GRAPHS))
    found: dict[str, Any] = {}
    for name in [*runs, *names]:
        if name in runs:
            run = hale.load_run(runs[name])
        else:
            source = given.data / name if given.data else name
            run = hale.train(source, budget=given.budget)
        found[name] = measure(run, given.most)
        print(name, json.dumps(found[name], indent=1), flush=True)
    command = shlex.join(["python", "benchmarks/paths.py", *sys.argv[1:]])
    whole = {"command": command, "machine": machine(), "graphs": found}
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "paths.json").write_text(json.dumps(whole, indent=1) + "\n")
        (given.out / "paths.md").write_text(page(whole))


if __name__ == "__main__":
    main()

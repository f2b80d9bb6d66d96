"""An activation found by search, beside Hanon searched alike; write docs/results/activation.md.

    python benchmarks/activation.py                         about 20 minutes on one core
    python benchmarks/activation.py --trials 3 --trial 5s --budget 10s --out /tmp/there

Three families have the same number of trials on CoDEx-S, each from the Hanon that `hale train`
would take: `hanon` (slope and bounds), `sigmoid` (shift, slope, floor and bounds) and `spline`
(eight pieces, reach and bounds). What each found is trained anew, on CoDEx-S and on CoDEx-M, which
no search has seen, with seeds that no trial had; validation triples judge. Cells are kept in
activation.json as they are finished; the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import hale
from hale.data.files import write_json, write_text
from hale.engine.activations import Activation, make_activation
from hale.errors import HaleWarning
from hale.lab.bench.machine import machine
from hale.lab.paper.figures import draw_functions
from hale.settings import parse_duration
from hale.training.tune.search import tune

FOUND_ON, TRIED_ON = "codex-s", "codex-m"
FAMILIES = ("hanon", "sigmoid", "spline")
SEEDS = (1, 2)
SYSTEM: dict[str, Any] = {"model": "rotl", "dim": 32, "threads": 1}
Cells = dict[str, dict[str, Any]]


def found_by(family: str, asked: argparse.Namespace) -> dict[str, Any]:
    """What a search for one family finds."""
    found = tune(
        hale.load(FOUND_ON),
        out=asked.runs / f"tune-{family}",
        budget=math.inf,
        trial_seconds=parse_duration(asked.trial),
        trials=asked.trials,
        search="activation",
        activation=family,
        **SYSTEM,
    )
    shape = found.values.get("shape", ())
    assert isinstance(shape, tuple)
    moved = {name: found.values[name] for name in ("beta", "gamma", "gamma_two_way")
             if name in found.values}  # fmt: skip
    values = {"activation": family, **moved, **({"shape": shape} if shape else {})}
    return {
        "values": values,
        "mrr": found.mrr,
        "start": found.start,
        "trials": found.trials,
        "given_up": found.pruned,
        "seconds": found.seconds,
    }


def judged(graph: str, values: Mapping[str, Any], seed: int, budget: float) -> dict[str, Any]:
    """Validation figures of one training."""
    run = hale.train(hale.load(graph), **SYSTEM, **values, seed=seed, budget=budget)
    report = hale.evaluate(run, "valid", cardinality=False)
    return {"mrr": report.mrr, "hits@10": report.hits[10], "seconds": run.summary.seconds}


def page(results: dict[str, Any]) -> str:
    """The results as a page."""
    cells, asked = results["cells"], results["asked"]
    lines = [
        "# An activation found by search",
        "",
        f"Written by `python benchmarks/activation.py` on {results['machine']['cpu']}, one thread. "
        f"RotL, d = 32. {asked['trials']} trials a family of {asked['trial']} on {FOUND_ON}, then "
        f"{asked['budget']} of training with what was found. All figures are MRR on validation "
        "triples, filtered, by the vectors alone; of the search, the best of its trials, which "
        "flatters it. `untouched` is what `hale train` takes without a search.",
        "",
        f"| family | search | before it | {FOUND_ON}, seeds {SEEDS} | mean "
        f"| {TRIED_ON}, seeds {SEEDS} | mean |",
        "|---|---|---|---|---|---|---|",
    ]
    for family in ("untouched", *FAMILIES):
        found = cells.get(f"search {family}", {})
        row = [family, f"{found['mrr']:.4f}" if found else "", ""]
        if found and found["start"] is not None:
            row[2] = f"{found['start']:.4f}"
        for graph in (FOUND_ON, TRIED_ON):
            there = [cells.get(f"{graph} {family} {seed}") for seed in SEEDS]
            mrrs = [cell["mrr"] for cell in there if cell]
            row += [", ".join(f"{mrr:.4f}" for mrr in mrrs), f"{mean(mrrs):.4f}" if mrrs else ""]
        lines.append(f"| {' | '.join(row)} |")
    lines += ["", "What was found:", ""]
    for family in FAMILIES:
        if f"search {family}" in cells:
            values = cells[f"search {family}"]["values"]
            told = ", ".join(f"{name} {shown(value)}" for name, value in values.items())
            lines.append(f"- {told}")
    return "\n".join([*lines, "", "![The curves beside the paper's](activation.svg)", ""])


def shown(value: Any) -> str:
    """A setting, short."""
    if isinstance(value, list | tuple):
        return "(" + ", ".join(f"{one:.3g}" for one in value) + ")"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def curve(values: Mapping[str, Any]) -> Activation:
    """What settings describe."""
    return make_activation(
        values["activation"],
        beta=values.get("beta", 3.0),
        gamma=values["gamma"],
        shape=values.get("shape", ()),
    )


def main() -> None:
    """Search, train, keep, render."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=14, help="of a family")
    parser.add_argument("--trial", default="12s", help="time of a trial")
    parser.add_argument("--budget", default="30s", help="training time of what was found")
    parser.add_argument("--runs", type=Path, default=Path("runs/activation"))
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore", HaleWarning)
    file = asked.out / "activation.json"
    results = json.loads(file.read_text()) if file.exists() else {"cells": {}}
    results |= {"machine": machine()}
    results["asked"] = {name: getattr(asked, name) for name in ("trials", "trial", "budget")}
    cells: Cells = results["cells"]

    def keep(name: str, cell: dict[str, Any]) -> None:
        cells[name] = cell
        write_json(file, results)
        write_text(asked.out / "activation.md", page(results))
        print(name, cell, flush=True)

    for family in FAMILIES:
        if f"search {family}" not in cells:
            keep(f"search {family}", found_by(family, asked))
    given: dict[str, Mapping[str, Any]] = {"untouched": {}}
    given |= {family: cells[f"search {family}"]["values"] for family in FAMILIES}
    for seed in SEEDS:
        for graph in (FOUND_ON, TRIED_ON):
            for family, values in given.items():
                name = f"{graph} {family} {seed}"
                if name not in cells:
                    keep(name, judged(graph, values, seed, parse_duration(asked.budget)))
    drawn = {f"{family}, found": curve(given[family]) for family in FAMILIES}
    draw_functions(asked.out / "activation.svg", drawn)


if __name__ == "__main__":
    main()

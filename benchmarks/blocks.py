"""Measure blocks against the sum over all entities, and write docs/results/blocks.md.

    python benchmarks/blocks.py                   everything (about 25 minutes), then render
    python benchmarks/blocks.py sixty hundred     some of it
    python benchmarks/blocks.py --render          render what is there

RotL, d = 32, on all validation triples. Rivals differ in the block alone, but for `recipe before
blocks`, which has the settings that WN18RR's and FB15k-237's recipes had when sums ran over all
entities. Runs are kept one by one in docs/results/blocks.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import hale
from hale.errors import HaleWarning
from hale.lab.bench.curves import reached
from hale.lab.bench.machine import machine
from hale.runs.systems import complete
from hale.training.trainer import Trainer

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
FILE = RESULTS / "blocks.json"

BEFORE: dict[str, dict[str, Any]] = {
    "wn18rr": {"block": "all", "queries": 32, "learning_rate": 0.02},
    "fb15k-237": {"block": "all", "queries": 112, "init_scale": 0.1, "learning_rate": 0.01},
}


class Part(NamedTuple):
    """Runs of one graph, beside each other."""

    graph: str
    says: str
    common: dict[str, Any]
    rivals: dict[str, dict[str, Any]]


PARTS = {
    "swift": Part(
        "wn18rr",
        "a budget of 12 s, all threads; seconds of training to Hits@10 .50",
        {"budget": 12, "validate_every": "1s"},
        {"recipe": {}, "recipe before blocks": BEFORE["wn18rr"]},
    ),
    "sixty": Part(
        "wn18rr",
        "60 s, one thread",
        {"budget": 60, "threads": 1, "validate_every": "60s"},
        {"recipe": {}, "recipe before blocks": BEFORE["wn18rr"]},
    ),
    "hundred": Part(
        "fb15k-237",
        "120 s, one thread",
        {"budget": 120, "threads": 1, "validate_every": "120s"},
        {"recipe": {}, "recipe before blocks": BEFORE["fb15k-237"]},
    ),
    "wn18rr": Part(
        "wn18rr",
        "100 epochs, one thread, 100 queries",
        {"epochs": 100, "threads": 1, "queries": 100, "validate_every": "100"},
        {"block 0.1": {"block": 0.1}, "all": {"block": "all"}},
    ),
    "wikidata-83k": Part(
        "wikidata-83k",
        "20 epochs, one thread",
        {"epochs": 20, "threads": 1, "validate_every": "20"},
        {"by the rule": {}, "all": {"block": "all"}},
    ),
}


def measure(part: Part, values: dict[str, Any]) -> dict[str, Any]:
    """Train once, on the validation triples."""
    graph = hale.load(part.graph)
    settings = complete(graph, dim=32, model="rotl", **part.common, **values)
    trainer = Trainer(graph, settings, keep="last")
    trainer.validation.take(len(graph.valid))
    run = trainer.fit()
    last = run.history[-1].metrics
    curve = [{"seconds": one.seconds, **dict(one.metrics)} for one in run.history]
    return {
        "settings": run.settings.model_dump(mode="json"),
        "machine": machine(),
        "mrr": last["mrr"],
        "hits@10": last["hits@10"],
        "epochs": run.summary.epochs,
        "steps": run.summary.steps,
        "seconds": run.summary.seconds,
        "to_hits10_of_half": reached(curve, "hits@10", 0.5),
    }


def render(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """The page, from what was measured."""
    here = next(iter(next(iter(found.values())).values()))["machine"]
    lines = [
        "# Blocks, measured",
        "",
        "Written by `python benchmarks/blocks.py` from blocks.json beside it. Machine: "
        f"{here['cpu']}, {here['cores']} cores, torch {here['torch']}. RotL, d = 32: all "
        "validation triples at the end of the run, one run each, seed 0. Rivals differ in the "
        "block alone, but for the recipe before blocks, which has other queries and rates.",
        "",
        "| graph | run | settings | MRR | Hits@10 | to Hits@10 .50 | epochs | ms a step |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in (name for name in PARTS if name in found):
        for rival, row in found[name].items():
            # by a line between two validations: of runs with one it would say nothing
            to = row["to_hits10_of_half"] if name == "swift" else None
            lines.append(
                f"| {PARTS[name].graph} | {PARTS[name].says} | {rival} | {row['mrr']:.4f} | "
                f"{row['hits@10']:.4f} | {'-' if to is None else f'{to:.1f} s'} | "
                f"{row['epochs']:.0f} | {1e3 * row['seconds'] / row['steps']:.2f} |"
            )
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure what is asked for, keep it, render."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--render", action="store_true", help="measure nothing")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", HaleWarning)
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for name in [] if asked.render else asked.parts or PARTS:
        for rival, values in PARTS[name].rivals.items():
            row = measure(PARTS[name], values)
            print(
                f"{name}, {rival}: MRR {row['mrr']:.4f}, Hits@10 {row['hits@10']:.4f}", flush=True
            )
            found = json.loads(FILE.read_text()) if FILE.exists() else {}
            found.setdefault(name, {})[rival] = row
            FILE.write_text(json.dumps(found, indent=1) + "\n")
    if not FILE.exists():
        parser.error(f"nothing is measured yet: {FILE.name} is not there")
    (RESULTS / "blocks.md").write_text(render(json.loads(FILE.read_text())))


if __name__ == "__main__":
    main()

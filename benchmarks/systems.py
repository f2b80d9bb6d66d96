"""Measure the systems that the paper compares, and write docs/results/systems.md.

    python benchmarks/systems.py                      everything (about 40 minutes), then render
    python benchmarks/systems.py strategies epoch     some of it, then render
    python benchmarks/systems.py strategies/advneg    one run of it
    python benchmarks/systems.py --render             render what is there

strategies   WN18RR, RotE, d = 32: the same 120 s for each strategy
hyperbolic   WN18RR, RotH and AttH, d = 32, 256 negatives, 600 s of float32: is it finite
complex      CoDEx-S, ComplEx, d = 256, cross-entropy: 300 s
negatives    WN18RR, RotE, d = 32, SamNeg, 60 s: how many negatives
batches      WN18RR, RotE, d = 32, AllNeg, 60 s: how large a batch, how fast a rate
epoch        WN18RR, RotE, d = 32, SamNeg with 50 negatives: seconds an epoch

Graphs are found as `hale` finds them (HALE_DATA, the cache, a download). What was measured
is kept run by run in docs/results/systems.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import hale
from hale.errors import HaleWarning
from hale.lab.bench.machine import machine

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
FILE = RESULTS / "systems.json"

ROTE = {"model": "rote", "dim": 32, "budget": "120s", "threads": 1}
SHORT = {"model": "rote", "dim": 32, "budget": "60s", "threads": 1}
HYPERBOLIC = {"dim": 32, "negatives": 256, "budget": "600s", "validate_every": "20s"}
RUNS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "strategies": {
        name: ("wn18rr", {**ROTE, "strategy": name})
        for name in ("hale", "advneg", "samneg", "nonneg")
    },
    "hyperbolic": {name: ("wn18rr", {"model": name, **HYPERBOLIC}) for name in ("roth", "atth")},
    "complex": {
        "complex": ("codex-s", {"model": "complex", "dim": 256, "budget": "300s"}),
    },
    "negatives": {
        f"samneg, {count}": ("wn18rr", {**SHORT, "strategy": "samneg", "negatives": count})
        for count in (16, 50, 256)
    },
    "batches": {
        f"allneg, {size}, rate {rate:g}": (
            "wn18rr",
            {**SHORT, "strategy": "allneg", "batch_size": size, "learning_rate": rate},
        )
        for size, rate in ((128, 0.01), (512, 0.003))
    },
    "epoch": {
        "samneg": (
            "wn18rr",
            {"model": "rote", "dim": 32, "strategy": "samneg", "negatives": 50, "epochs": 3},
        ),
    },
}


def measure(graph: str, values: dict[str, Any]) -> dict[str, Any]:
    """Train once; quality on the test split, the curve, and how fast it went."""
    run = hale.train(hale.load(graph), **values)
    if run.summary.stopped_by == "interrupt":
        raise SystemExit("interrupted; what was finished is kept")
    report = hale.evaluate(run, "test")
    summary = run.summary
    return {
        "graph": graph,
        "settings": run.settings.model_dump(mode="json"),
        "machine": machine(),
        "mrr": report.mrr,
        "hits@10": report.hits[10],
        "seconds": summary.seconds,
        "epochs": summary.epochs,
        "seconds_an_epoch": summary.seconds / summary.epochs,
        "curve": [
            {"seconds": r.seconds, "loss": sum(r.losses.values()), **dict(r.metrics)}
            for r in run.history
        ],
    }


def render(found: dict[str, dict[str, Any]]) -> str:
    """The page, from what was measured."""
    here = next(iter(next(iter(found.values())).values()))["machine"]
    lines = [
        "# The systems, measured",
        "",
        "Written by `python benchmarks/systems.py` from systems.json beside it. Machine: "
        f"{here['cpu']}, {here['cores']} cores, torch {here['torch']}. Settings are the "
        "defaults of each strategy and model but for what a title names.",
        "",
    ]
    titles = {
        "strategies": "WN18RR, RotE, d = 32, 120 s of training for each strategy",
        "hyperbolic": "WN18RR, d = 32, 256 negatives, 600 s of float32: finite, still falling",
        "complex": "CoDEx-S, ComplEx, d = 256, cross-entropy over all entities, 300 s",
        "negatives": "WN18RR, RotE, d = 32, SamNeg, 60 s: how many negatives",
        "batches": "WN18RR, RotE, d = 32, AllNeg, 60 s: batch size and learning rate",
        "epoch": "WN18RR, RotE, d = 32, SamNeg with 50 negatives",
    }
    for part, title in titles.items():
        if part not in found:
            continue
        lines += [
            f"## {title}",
            "",
            "| | test MRR | test Hits@10 | best / last validation MRR | epochs | s an epoch "
            "| mean loss, middle / last third | threads |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for name, row in found[part].items():
            curve = row["curve"]
            third = max(1, len(curve) // 3)
            middle, last = (
                sum(point["loss"] for point in part) / len(part)
                for part in (curve[third : 2 * third] or curve[:1], curve[-third:])
            )
            best = max(point["mrr"] for point in curve)
            lines.append(
                f"| {name} | {row['mrr']:.4f} | {row['hits@10']:.4f} | {best:.4f} / "
                f"{curve[-1]['mrr']:.4f} | {row['epochs']:.1f} | {row['seconds_an_epoch']:.2f} | "
                f"{middle:.4f} / {last:.4f} | {row['machine']['threads']} |"
            )
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Measure what is asked for, keep it, render."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"{', '.join(RUNS)}, or one run of them")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", HaleWarning)
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    for wish in [] if asked.render else asked.parts or RUNS:
        part, _, only = wish.partition("/")
        if part not in RUNS or (only and only not in RUNS[part]):
            parser.error(f"there is no {wish}")
        for name, (graph, values) in RUNS[part].items():
            if only and name != only:
                continue
            row = measure(graph, values)
            print(f"{part} {name}: MRR {row['mrr']:.4f}, {row['seconds_an_epoch']:.2f} s an epoch")
            found.setdefault(part, {})[name] = row
            FILE.write_text(json.dumps(found, indent=1) + "\n")
    (RESULTS / "systems.md").write_text(render(found))


if __name__ == "__main__":
    main()

"""Measure AffinE beside RotL on validation triples, and write docs/results/affine.md.

    python benchmarks/affine.py                   what is not measured yet, then render
    python benchmarks/affine.py fb15k-237         of one graph
    python benchmarks/affine.py --render          render what is there

d = 32, one thread, all validation triples at the end of the run. Each has its recipe; on CoDEx-S
both have AffinE's, since RotL's was found at d = 256 and is worse here. Runs end after a number of
epochs, so that both see the same facts however busy the machine is. They are kept one by one in
docs/results/affine.json: a command that was broken off goes on.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import hale
from hale.data.graph import Graph
from hale.errors import HaleWarning
from hale.lab.bench.machine import machine
from hale.runs.systems import complete
from hale.training.trainer import Trainer

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
FILE = RESULTS / "affine.json"

EPOCHS = {"fb15k-237": 110, "codex-s": 400, "codex-m": 110, "wn18rr": 250}
SEEDS = (0, 1, 2)
# RotL's recipe for CoDEx-S was found at d = 256 and is worse here.
SHARED = {"codex-s": {"init_scale": 0.05, "gamma": 7.0, "weight": 0.15, "dropout": 0.1}}
SIZES = {"fb15k-237": (2, 8)}  # of blocks, with the first seed, beside the recipe's
TIMED = 200  # steps, of which the fastest tells what a step takes


def kept() -> dict[str, dict[str, dict[str, Any]]]:
    """What is measured already."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    return json.loads(FILE.read_text()) if FILE.exists() else found


def runs_of(graph: str) -> dict[str, dict[str, Any]]:
    """The runs on a graph, by name."""
    runs: dict[str, dict[str, Any]] = {}
    for seed in SEEDS:
        for model in ("rotl", "affine"):
            runs[f"{model}, seed {seed}"] = {"model": model, "seed": seed}
    for size in SIZES.get(graph, ()):
        runs[f"affine, k = {size}"] = {"model": "affine", "group_size": size}
    shared = {"epochs": EPOCHS[graph], **SHARED.get(graph, {})}
    return {name: {**shared, **values} for name, values in runs.items()}


def measure(graph: Graph, values: dict[str, Any]) -> dict[str, Any]:
    """Train once, and rank all validation triples."""
    settings = complete(graph, dim=32, threads=1, **values)
    settings = settings.model_copy(update={"validate_every": str(values["epochs"])})
    fastest = _fastest_step(Trainer(graph, settings))
    trainer = Trainer(graph, settings, keep="last")
    trainer.validation.take(len(graph.valid))
    run = trainer.fit()
    if run.summary.stopped_by == "interrupt":
        raise SystemExit("broken off; the same command goes on with what is kept")
    last = run.history[-1].metrics
    return {
        "settings": run.settings.model_dump(mode="json"),
        "machine": machine(),
        "native step": trainer.native_step is not None,
        **{name: last[name] for name in ("mrr", "hits@1", "hits@10")},
        "steps": run.summary.steps,
        "seconds": run.summary.seconds,
        "fastest step": fastest,
    }


def _fastest_step(trainer: Trainer) -> float:
    """Seconds of the fastest step of a fresh run: least of all what others on the machine do."""
    took = []
    for _ in range(TIMED):
        began = time.perf_counter()
        trainer._step()
        took.append(time.perf_counter() - began)
    return min(took)


def render(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """The page, from what was measured."""
    here = next(iter(next(iter(found.values())).values()))["machine"]
    lines = [
        "# AffinE, measured",
        "",
        "Written by `python benchmarks/affine.py` from affine.json beside it. Machine: "
        f"{here['cpu']}, {here['cores']} cores, torch {here['torch']}, shared with other work. "
        "d = 32, one thread, all validation triples at the end of the run, mean and standard "
        "deviation where there are several seeds; runs have equally many epochs, which at the "
        f"fastest of {TIMED} steps would be the seconds told. Each has its recipe; on CoDEx-S both "
        "have AffinE's, since RotL's was found at d = 256 and is worse here.",
        "",
        "| graph | model | seeds | MRR | Hits@1 | Hits@10 | epochs | ms, fastest step | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for graph in (graph for graph in EPOCHS if graph in found):
        for model in ("rotl", "affine"):
            rows = [row for name, row in found[graph].items() if name.startswith(f"{model}, seed")]
            if rows:
                size = rows[0]["settings"]["group_size"]
                told = f"affine, k = {size} (recipe)" if model == "affine" else model
                lines.append(_line(graph, told, rows))
        for size in SIZES.get(graph, ()):
            row = found[graph].get(f"affine, k = {size}")
            if row is not None:
                lines.append(_line(graph, f"affine, k = {size}", [row]))
    return "\n".join([*lines, ""])


def _line(graph: str, told: str, rows: list[dict[str, Any]]) -> str:
    """A row of the table: means, with their spread where there are several."""
    cells = []
    for name in ("mrr", "hits@1", "hits@10"):
        values = [row[name] for row in rows]
        spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
        cells.append(f"{statistics.mean(values):.4f}{spread}")
    step = min(row["fastest step"] for row in rows)
    epochs, seconds = rows[0]["settings"]["epochs"], step * rows[0]["steps"]
    return (
        f"| {graph} | {told} | {len(rows)} | {' | '.join(cells)} | {epochs} | "
        f"{1e3 * step:.2f} | {seconds:.0f} |"
    )


def main() -> None:
    """Measure what is asked for and not there yet, keep it, render."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("graphs", nargs="*", help=", ".join(EPOCHS))
    parser.add_argument("--render", action="store_true", help="measure nothing")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", HaleWarning)
    if unknown := set(asked.graphs) - set(EPOCHS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(EPOCHS)}")
    for name in [] if asked.render else asked.graphs or EPOCHS:
        graph = hale.load(name)
        for run, values in runs_of(name).items():
            if run in kept().get(name, {}):
                continue
            row = measure(graph, values)
            print(f"{name}, {run}: MRR {row['mrr']:.4f}, Hits@10 {row['hits@10']:.4f}", flush=True)
            found = kept()
            found.setdefault(name, {})[run] = row
            FILE.write_text(json.dumps(found, indent=1) + "\n")
    if not FILE.exists():
        parser.error(f"nothing is measured yet: {FILE.name} is not there")
    (RESULTS / "affine.md").write_text(render(kept()))


if __name__ == "__main__":
    main()

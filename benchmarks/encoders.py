"""Measure graph encoders, convolutions under HaLE and Rot2L; write docs/results/encoders.md.

    python benchmarks/encoders.py                         everything (about 3 hours), then render
    python benchmarks/encoders.py curve strategies        some of it, then render
    python benchmarks/encoders.py curve/sacn              one run of it
    python benchmarks/encoders.py curve --budget 60s      a trial: told as such on the page
    python benchmarks/encoders.py --render                render what is there

curve        FB15k-237, CompGCN and SACN, d = 100, an hour: the curve of validation MRR
strategies   ConvE and SACN, d = 100, 300 s: HaLE by squared L2 beside their own strategy
rot2l        WN18RR, Rot2L and RotE under HaLE, d = 32, 600 s

Each has one thread, so two commands may run side by side on two cores. How much of its core a run
had is told: work beside it makes that less.

Graphs are found as `hale` finds them (HALE_DATA, the cache, a download). A run lives in a folder
below --runs and goes on where a kill left it; what was measured is kept run by run in
docs/results/encoders/, and is not measured again unless --again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import hale
from hale.data.files import write_json
from hale.errors import HaleWarning
from hale.lab.bench.machine import machine
from hale.settings import parse_duration

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
CELLS = RESULTS / "encoders"
HOUR, MINUTES, SHORT = 3600.0, 600.0, 300.0

# Test MRR and Hits@10 as their authors print them, at d = 200.
PUBLISHED = {"compgcn": (0.355, 0.535), "sacn": (0.35, 0.54)}

Plan = tuple[str, dict[str, Any]]
PARTS: dict[str, dict[str, Plan]] = {
    "curve": {
        name: ("fb15k-237", {"model": name, "dim": 100, "budget": HOUR, "threads": 1})
        for name in ("compgcn", "sacn")
    },
    "strategies": {
        f"{graph}, {model}, {strategy}": (
            graph,
            {"model": model, "strategy": strategy, "dim": 100, "budget": SHORT, "threads": 1},
        )
        for graph in ("codex-s", "fb15k-237")
        for model in ("conve", "sacn")
        for strategy in ("allneg", "hale")
    },
    "rot2l": {
        name: ("wn18rr", {"model": name, "dim": 32, "budget": MINUTES, "threads": 1})
        for name in ("rot2l", "rote")
    },
}
TITLES = {
    "curve": "FB15k-237, d = 100: CompGCN and SACN under cross-entropy over all entities",
    "strategies": "ConvE and SACN, d = 100: HaLE by squared L2 beside their own, one clock",
    "rot2l": "WN18RR, d = 32: Rot2L beside RotE under HaLE",
}


def measure(graph: str, values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train once, or go on; quality on the test split, the curve, and how fast it went."""
    begun = (folder / "settings.json").is_file()
    wall, core = time.perf_counter(), time.process_time()
    run = hale.train(
        None if begun else hale.load(graph),
        out=folder,
        resume=begun,
        **({} if begun else {**values, "validate_every": f"{values['budget'] / 20:g}s"}),
    )
    if run.summary.stopped_by == "interrupt":
        raise SystemExit("interrupted; what was finished is kept, and the run can be resumed")
    share = (time.process_time() - core) / (time.perf_counter() - wall)
    report, ruled = (hale.evaluate(run, "test", cardinality=rule) for rule in (False, True))
    summary = run.summary
    return {
        "graph": graph,
        "settings": run.settings.model_dump(mode="json"),
        "machine": machine(),
        "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        "mrr": report.mrr,
        "hits@10": report.hits[10],
        "by_the_rule": ruled.mrr,
        "seconds": summary.seconds,
        "share_of_core": share,
        "epochs": summary.epochs,
        "steps": summary.steps,
        "seconds_an_epoch": summary.seconds / summary.epochs,
        "curve": [
            {"seconds": r.seconds, "epoch": r.epoch, "mrr": r.metrics["mrr"]} for r in run.history
        ],
    }


def file_of(part: str, name: str) -> Path:
    """Where the figures of one run are kept."""
    return CELLS / f"{part}-{name.replace(', ', '-')}.json"


def measured() -> dict[str, dict[str, Any]]:
    """What was measured so far: part, name, figures."""
    found: dict[str, dict[str, Any]] = {}
    for part, plans in PARTS.items():
        for name in plans:
            if file_of(part, name).exists():
                found.setdefault(part, {})[name] = json.loads(file_of(part, name).read_text())
    return found


def render(found: dict[str, dict[str, Any]]) -> str:
    """The page, from what was measured."""
    here = next(iter(next(iter(found.values())).values()))["machine"]
    lines = [
        "# Graph encoders and convolutions, measured",
        "",
        "Written by `python benchmarks/encoders.py` from the cells in encoders/. Machine: "
        f"{here['cpu']}, {here['cores']} cores, torch {here['torch']}. Settings are the defaults "
        "of each strategy and model but for what a title names; one thread each. Test figures "
        "are of the vectors alone; `by the rule` is by the cardinality rule of "
        "[models](../models.md). A row of less time than planned is a trial: it shows that the "
        "system runs and what an epoch takes, not how good it is.",
        "",
    ]
    for part, title in TITLES.items():
        if part not in found:
            continue
        lines += [
            f"## {title}",
            "",
            "| | test MRR | test Hits@10 | test MRR by the rule | best validation MRR "
            "| s of training | epochs | s an epoch | share of a core | parameters | |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        for name, row in found[part].items():
            planned = PARTS[part][name][1]["budget"]
            told = "" if row["settings"]["budget"] >= planned else f"trial, of {planned:g} s"
            best = max(point["mrr"] for point in row["curve"])
            lines.append(
                f"| {name} | {row['mrr']:.4f} | {row['hits@10']:.4f} "
                f"| {row['by_the_rule']:.4f} | {best:.4f} | "
                f"{row['seconds']:.0f} | {row['epochs']:.1f} | {row['seconds_an_epoch']:.1f} | "
                f"{row['share_of_core']:.2f} | {row['parameters']:,} | {told} |"
            )
            if part == "curve":
                mrr, hits = PUBLISHED[name]
                lines.append(
                    f"| {name}, published, d = 200 | {mrr:.3f} | {hits:.3f} | | | | | | | | |"
                )
        lines.append("")
        if part == "curve":
            lines += ["![Validation MRR over training time](encoders.png)", ""]
    return "\n".join(lines)


def draw(rows: dict[str, Any]) -> None:
    """The curves of validation MRR, with the published test figures as lines."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    for number, (name, row) in enumerate(rows.items()):
        minutes = [point["seconds"] / 60 for point in row["curve"]]
        axes.plot(minutes, [p["mrr"] for p in row["curve"]], f"C{number}o-", ms=3, label=name)
        published = f"{name}, published test MRR at d = 200"
        axes.axhline(PUBLISHED[name][0], color=f"C{number}", ls=":", lw=1, label=published)
    axes.set(xlabel="minutes of training", ylabel="validation MRR", ylim=(0, None))
    axes.legend(fontsize=8, loc="lower right")
    figure.savefig(RESULTS / "encoders.png", dpi=120)


def main() -> None:
    """Measure what is asked for, keep it, render."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}, or one run of them")
    parser.add_argument("--budget", type=parse_duration, help="another time of training: a trial")
    parser.add_argument("--runs", type=Path, default=Path("runs/encoders"), help="where runs live")
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", HaleWarning)
    for wish in [] if asked.render else asked.parts or PARTS:
        part, _, only = wish.partition("/")
        if part not in PARTS or (only and only not in PARTS[part]):
            parser.error(f"there is no {wish}")
        for name, (graph, planned) in PARTS[part].items():
            if only and name != only:
                continue
            values = {**planned, "budget": asked.budget or planned["budget"]}
            cell = file_of(part, name)
            there = json.loads(cell.read_text()) if cell.exists() else None
            if there and there["settings"]["budget"] >= values["budget"] and not asked.again:
                print(f"{part} {name}: is there, {there['seconds']:.0f} s")
                continue
            folder = asked.runs / f"{cell.stem}-{values['budget']:g}s"
            row = measure(graph, values, folder)
            print(
                f"{part} {name}: MRR {row['mrr']:.4f}, {row['seconds_an_epoch']:.1f} s an epoch, "
                f"{row['epochs']:.1f} epochs",
                flush=True,
            )
            write_json(cell, row)
    found = measured()
    if found:
        if "curve" in found:
            draw(found["curve"])
        (RESULTS / "encoders.md").write_text(render(found))


if __name__ == "__main__":
    main()

"""Small runs that learn from large ones: WN18RR and FB15k-237, d = 256 to d = 32.

    python benchmarks/distil.py                           600 s a student, one thread
    python benchmarks/distil.py --budget 60s --teacher-budget 120s wn18rr
    python benchmarks/distil.py --students plain,distile  some of them, and the teachers they need
    python benchmarks/distil.py --out docs/results        distil.json and distil.md

Students have the same clock, with teachers and without; what the teachers took, and the time of
their answers before a student begins, are told apart. Systems:

    teacher     RotL at d = 256
    plain       RotL at d = 32
    distile     the same, taught by the teacher
    mulde       the same, taught by three runs at d = 64 of other seeds and models

All figures are of validation triples. Runs live below --runs, and what is there is taken as it is;
cells are kept in distil.json as they are finished, so the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import hale
from hale.data.files import write_text
from hale.lab.bench.machine import machine
from hale.settings import parse_duration

GRAPHS = ("wn18rr", "fb15k-237")
LARGE = {"teacher": {"model": "rotl", "dim": 256}}
SMALL: dict[str, dict[str, Any]] = {
    "small-1": {"model": "rotl", "dim": 64, "seed": 1},
    "small-2": {"model": "rotl", "dim": 64, "seed": 2},
    "small-3": {"model": "rote", "dim": 64, "seed": 1},
}
STUDENTS: dict[str, tuple[str, ...]] = {
    "plain": (),
    "distile": tuple(LARGE),
    "mulde": tuple(SMALL),
}


def trained(place: Path, name: str, budget: float, values: dict[str, Any]) -> dict[str, Any]:
    """A run of its own folder, trained now if it is not there, and its validation figures."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hale.errors.HaleWarning)
        graph = hale.load(name)
        run = hale.train(graph, out=place, overwrite=True, budget=budget, threads=1, **values)
    wall = time.perf_counter() - began
    found = hale.evaluate(run, split="valid").as_dict()
    return {
        **{key: found[key] for key in ("mrr", "hits@1", "hits@10")},
        "dim": run.settings.dim,
        "seconds": run.summary.seconds,
        "steps": run.summary.steps,
        "apart": wall - run.summary.seconds - (run.summary.validation_seconds or 0.0),
    }


def page(results: dict[str, Any]) -> str:
    """The results as a page."""
    lines = [
        "# Small runs that learn from large ones",
        "",
        f"Written by `python benchmarks/distil.py` on {results['machine']['cpu']}, one thread. "
        "Validation triples, filtered, all entities, by the rules of the recipe. `apart` are "
        "seconds beside training and validation: reading the graph, the teachers' answers, saving.",
        "",
        "| graph | run | d | seconds | steps | apart | MRR | Hits@1 | Hits@10 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for key, cell in results["cells"].items():
        graph, name, *_ = key.split(" ")
        lines.append(
            f"| {graph} | {name} | {cell['dim']} | {cell['seconds']:.0f} | {cell['steps']:,} "
            f"| {cell['apart']:.0f} | {cell['mrr']:.4f} | {cell['hits@1']:.4f} "
            f"| {cell['hits@10']:.4f} |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure what is asked for, and lacks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("graphs", nargs="*", metavar="GRAPH", help=", ".join(GRAPHS))
    parser.add_argument("--budget", default="600s", help="training time of a student")
    parser.add_argument("--teacher-budget", default="600s", help="training time of a teacher")
    parser.add_argument("--students", default=",".join(STUDENTS), help="which, by comma")
    parser.add_argument("--weight", type=float, default=1.0, help="of what teachers add")
    parser.add_argument("--queries", type=int, default=50_000, help="that teachers answer")
    parser.add_argument("--seed", type=int, default=0, help="of the students")
    parser.add_argument("--runs", type=Path, default=Path("runs/distil"))
    parser.add_argument("--out", type=Path, default=Path("runs"))
    options = parser.parse_args()
    chosen = options.students.split(",")
    if unknown := set(chosen) - STUDENTS.keys():
        parser.error(f"there is no student {', '.join(unknown)}")
    needed = {name for one in chosen for name in STUDENTS[one]}
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "distil.json"
    cells = json.loads(file.read_text())["cells"] if file.exists() else {}
    students = parse_duration(options.budget)
    teachers = parse_duration(options.teacher_budget)

    def fill(graph: str, name: str, budget: float, values: dict[str, Any]) -> None:
        key = f"{graph} {name} {budget:g}"
        if name in STUDENTS:
            key += f" seed {options.seed}"
        if values.get("teacher"):
            key += f" w {options.weight:g} q {options.queries}"
        place = options.runs / key.replace(" ", "-")
        if name not in STUDENTS:
            places[name] = place
        if key in cells and (name in STUDENTS or place.is_dir()):
            return
        cells[key] = trained(place, graph, budget, values)
        results = {"machine": machine(), "cells": cells}
        write_text(file, json.dumps(results, indent=1) + "\n")
        write_text(options.out / "distil.md", page(results))
        print(key, cells[key], flush=True)

    for graph in options.graphs or GRAPHS:
        places: dict[str, Path] = {}
        for name, values in {**LARGE, **SMALL}.items():
            if name in needed:
                fill(graph, name, teachers, values)
        for name in chosen:
            taught_by = STUDENTS[name]
            given: dict[str, Any] = {"model": "rotl", "dim": 32, "seed": options.seed}
            if taught_by:
                given |= {
                    "teacher": [str(places[one]) for one in taught_by],
                    "teacher_weight": options.weight,
                    "teacher_queries": options.queries,
                }
            fill(graph, name, students, given)


if __name__ == "__main__":
    main()

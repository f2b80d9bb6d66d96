"""Whether the probabilities of shown answers mean what they say, on test queries.

    python benchmarks/reliability.py --data FOLDER   a minute on each graph of a folder
    python benchmarks/reliability.py --data FOLDER --budget 30s codex-s wordnet
    python benchmarks/reliability.py --run debian=runs/debian     take a run that is there
    python benchmarks/reliability.py ... --out docs/results       reliability.json, .md and .png

A graph is a folder with train, valid and test inside FOLDER, or a named data set.

A run is calibrated on its validation triples. Then the queries of its test triples are asked in
both directions, at most 2,000 of each, each once, and to each comes one of the same relation that
lacks no test fact; train facts are left out, and the ten best candidates count as shown. One that
is a test fact is true, one that no split holds is false, and a validation fact is neither. Told are

    all        both kinds of questions: the mixture that was fitted
    lacking    those of test triples alone
    before     all, by a curve against random corruptions: what probabilities were until now
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hale
from hale.cli.plots import plot_reliability
from hale.engine.device import use_threads
from hale.evaluation.calibration import ByQuestions, calibrate, corrupt
from hale.evaluation.calibration.asked_fit import ask
from hale.evaluation.calibration.by_questions import SHOWN
from hale.evaluation.calibration.questions import triples_of
from hale.evaluation.calibration.standing import Standings
from hale.evaluation.reliability import Quality, Reliability
from hale.lab.bench.machine import machine

ENOUGH = 200  # answers shown from which a relation is told
TEST_SEED = 1  # of the questions; those of validation have seed 0


def judge(run: hale.Run) -> tuple[dict[str, Any], Quality]:
    """What one run's probabilities are worth, and what is to be drawn."""
    graph, standings = run.graph, Standings(run)
    calibration = calibrate(run, save=False)
    assert isinstance(calibration, ByQuestions)
    assert calibration.reliability is not None
    asked = ask(graph, standings, "test", seed=TEST_SEED)
    shown, top = asked.shown, asked.shown.ranks <= SHOWN
    rows, answers, hits = shown.question[top], shown.answers[top], shown.hits[top]
    p = calibration.fit.probabilities(standings, asked.lists, rows, answers)
    triples = triples_of(asked.lists, rows, answers, len(graph.relations))
    earlier = calibrate(run, negatives=corrupt(graph, graph.valid), save=False)
    before = earlier.probability_of(run, triples)
    lacking = shown.lacking[top]
    names = graph.relations.names
    by_relation = {}
    for relation in np.unique(triples[:, 1]).tolist():
        mine = triples[:, 1] == relation
        if mine.sum() >= ENOUGH:
            by_relation[names[relation]] = _ways(hits, p, before, lacking, mine)
    everything = np.ones(len(hits), dtype=bool)
    found = {
        "questions": len(asked.questions.given),
        "lacking": int(asked.questions.lacking.sum()),
        "held_out_half_of_valid": calibration.reliability.as_dict(),
        **_ways(hits, p, before, lacking, everything),
        "by_relation": by_relation,
    }
    return found, Quality.of(hits, p >= 0.5, p)


def _ways(
    hits: NDArray[np.bool_],
    p: NDArray[np.float64],
    before: NDArray[np.float64],
    lacking: NDArray[np.bool_],
    mine: NDArray[np.bool_],
) -> dict[str, Any]:
    """The reliability of some of the answers."""
    alone = mine & lacking
    return {
        "all": Reliability.of(hits[mine], p[mine]).as_dict(),
        "lacking": Reliability.of(hits[alone], p[alone]).as_dict() if alone.any() else None,
        "before": Reliability.of(hits[mine], before[mine]).as_dict(),
    }


def obtained(name: str, path: Path | None, options: argparse.Namespace) -> hale.Run:
    """The run at ``path``, or one trained now."""
    if path is not None:
        return hale.load_run(path)
    source = name if options.data is None else options.data / name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hale.errors.HaleWarning)
        graph = hale.load(source if Path(source).exists() else name)
    return hale.train(graph, budget=options.budget, threads=1)


def page(result: dict[str, Any]) -> str:
    """The figures as a page."""
    here = result["machine"]
    lines = [
        "# Reliability of shown answers",
        "",
        f"Written by `{result['command']}` on {here['cores']} cores ({here['cpu']}), one thread.",
        "Calibrated on validation triples, judged on the queries of test triples, the ten best "
        "candidates of each: a test",
        "fact is true, what no split holds is false (though it may be true), a validation fact "
        "does not count. `all`: as many",
        "queries that lack nothing beside those of test triples, which is what the probability "
        "is about; `lacking`: those of test",
        "triples alone; `before`: all, by a curve against random corruptions. In each band: "
        "answers, mean p, share true. ECE is the",
        "expected calibration error over ten bins.",
        "",
        "| graph | run | way | answers | true | ECE | log loss | p >= .9 | .5 to .9 | below |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, graph in result["graphs"].items():
        about = f"{graph['model']} {graph['dim']}, {graph['seconds']:.0f} s, "
        about += f"valid MRR {graph['mrr']:.3f}"
        lines += [
            f"| {name} | {about} | {way} | {_row(graph[way])} |"
            for way in ("all", "lacking", "before")
        ]
    for name, graph in result["graphs"].items():
        lines += [
            "",
            f"## {name}: relations with {ENOUGH} answers shown or more",
            "",
            "| relation | answers | true | ECE, all | ECE, lacking | ECE, before | p >= .9 | "
            ".5 to .9 | below |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for relation, ways in graph["by_relation"].items():
            every, alone, before = (ways[way] for way in ("all", "lacking", "before"))
            lines.append(
                f"| {relation} | {every['count']:,} | {every['hits']:,} | "
                f"{every['calibration_error']:.3f} | "
                f"{'' if alone is None else format(alone['calibration_error'], '.3f')} | "
                f"{before['calibration_error']:.3f} | {_bands(every)} |"
            )
    lines += ["", "![Reliability](reliability.png)", ""]
    return "\n".join(lines)


def _row(found: dict[str, Any]) -> str:
    return (
        f"{found['count']:,} | {found['hits']:,} | {found['calibration_error']:.4f} | "
        f"{found['log_loss']:.4f} | {_bands(found)}"
    )


def _bands(found: dict[str, Any]) -> str:
    return " | ".join(
        f"{band['count']:,}: {band['probability']:.3f} / {band['share']:.3f}"
        if band["count"]
        else "0"
        for band in found["bands"]
    )


def main() -> None:
    """Train or load, judge, print, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("graphs", nargs="*", help="[default: all folders of --data]")
    parser.add_argument("--data", type=Path, help="folder of graphs")
    parser.add_argument("--run", action="append", default=[], metavar="GRAPH=FOLDER")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--out", type=Path, help="folder for reliability.json, .md and .png")
    options = parser.parse_args()
    use_threads(1)
    paths = dict(text.split("=", 1) for text in options.run)
    inside = sorted(options.data.iterdir()) if options.data and not options.graphs else []
    names = list(dict.fromkeys([*options.graphs, *(p.name for p in inside if p.is_dir()), *paths]))
    if not names:
        parser.error("name a graph, or give --data FOLDER or --run GRAPH=FOLDER")
    graphs: dict[str, Any] = {}
    drawn: dict[str, Quality] = {}
    for name in names:
        run = obtained(name, Path(paths[name]) if name in paths else None, options)
        found, drawn[name] = judge(run)
        graphs[name] = {
            "entities": len(run.graph.entities),
            "model": run.settings.model,
            "dim": run.settings.dim,
            "seconds": run.summary.seconds,
            "mrr": run.best.metrics["mrr"] if run.best else 0.0,
            **found,
        }
        for way in ("all", "lacking", "before"):
            print(f"{name:12} {way:8} {_row(found[way])}", flush=True)
    result = {"machine": machine(), "command": shlex.join(["python", *sys.argv]), "graphs": graphs}
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "reliability.json").write_text(json.dumps(result, indent=1) + "\n")
        (options.out / "reliability.md").write_text(page(result))
        plot_reliability(drawn, options.out / "reliability.png")


if __name__ == "__main__":
    main()

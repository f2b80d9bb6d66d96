"""Triple classification on CoDEx-S and CoDEx-M, in the manner of the CoDEx paper.

    python benchmarks/classify.py                          train 5 minutes on each graph
    python benchmarks/classify.py --budget 30s codex-s
    python benchmarks/classify.py --run codex-s=runs/mine  take a run that is there
    python benchmarks/classify.py --out docs/results       classify.json, .md and .png

The graphs and their hard negatives (valid_negatives.txt, test_negatives.txt beside
the splits) are looked for in the folders of HALE_DATA.

Four ways, each from validation only:

    hard       hard negatives in validation and in test: the paper's way
    sampled    random corruptions in both
    cold       random corruptions in validation, hard negatives in test: nothing is
               learnt about what hard negatives look like
    questions  no negatives in validation (the default: answers to its questions), hard
               negatives in test, of which far fewer are facts than of claims here: p is
               how often such an answer is one, so few claims reach one half

Which method is the default was chosen without the test split: `halves` fits each on one half of
the validation triples and negatives and judges it on the other.
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

import hale
from hale.cli.plots import plot_reliability
from hale.data.datasets import locate
from hale.data.graph import Ids
from hale.data.sources.labelled import read_labelled
from hale.evaluation.calibration import calibrate, corrupt
from hale.evaluation.calibration.fits import Fits
from hale.evaluation.calibration.scores import triple_scores
from hale.evaluation.classification import classify
from hale.evaluation.reliability import Quality
from hale.lab.bench.machine import machine

GRAPHS = ("codex-s", "codex-m")
METHODS = ("isotonic", "platt")  # the default first: it is drawn
TEST_SEED = 1  # the corruptions of test triples; those of validation have seed 0

# Accuracy and F1 that the authors publish (github.com/tsafavi/codex), hard negatives.
PUBLISHED = {
    "codex-s": {
        "RESCAL": (0.843, 0.852),
        "TransE": (0.829, 0.837),
        "ComplEx": (0.836, 0.846),
        "ConvE": (0.841, 0.846),
        "TuckER": (0.840, 0.846),
    },
    "codex-m": {
        "RESCAL": (0.818, 0.815),
        "TransE": (0.797, 0.803),
        "ComplEx": (0.824, 0.818),
        "ConvE": (0.826, 0.829),
        "TuckER": (0.823, 0.816),
    },
}


def judge(run: hale.Run, negatives: dict[str, Ids]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of one run, and its qualities to draw."""
    test = run.graph.test
    random = corrupt(run.graph, test, seed=TEST_SEED)
    corrupted = corrupt(run.graph, run.graph.valid, seed=0)
    ways = {
        "hard": (negatives["valid"], negatives["test"]),
        "sampled": (corrupted, random),
        "cold": (corrupted, negatives["test"]),
        "questions": (None, negatives["test"]),
    }
    rows, drawn = [], {}
    for way, (for_valid, for_test) in ways.items():
        for method in METHODS if for_valid is not None else (None,):
            calibration = calibrate(run, method=method, negatives=for_valid, save=False)
            quality = _quality(run, calibration, for_test)
            rows.append(
                {
                    "graph": run.graph.name,
                    "way": way,
                    "method": method or "questions",
                    **quality.as_dict(),
                }
            )
            if method in (METHODS[0], None):
                drawn[f"{run.graph.name}, {way}"] = quality
    return rows, drawn


def halves(run: hale.Run, hard: Ids) -> list[dict[str, Any]]:
    """Each method fitted on half of validation and judged on the other half, both ways round."""
    valid = run.graph.valid
    rows = []
    for way, false in (("hard", hard), ("sampled", corrupt(run.graph, valid, seed=0))):
        triples = np.concatenate([valid, false])
        labels = np.arange(len(triples)) < len(valid)
        scores, relations = triple_scores(run.model, triples), triples[:, 1]
        first = np.random.default_rng(0).random(len(triples)) < 0.5
        for method in METHODS:
            probabilities, verdicts = np.empty(len(triples)), np.empty(len(triples), dtype=bool)
            for fitted, judged in ((first, ~first), (~first, first)):
                fits = Fits.of(method, scores[fitted], relations[fitted], labels[fitted])
                probabilities[judged] = fits.probabilities(scores[judged], relations[judged])
                verdicts[judged] = scores[judged] >= fits.thresholds(relations[judged])
            quality = Quality.of(labels, verdicts, probabilities)
            right = np.clip(np.where(labels, probabilities, 1 - probabilities), 1e-4, 1)
            loss = float(-np.log(right).mean())
            rows.append({"way": way, "method": method, "log_loss": loss, **quality.as_dict()})
    return rows


def _quality(run: hale.Run, calibration: hale.Calibration, false: Ids) -> Quality:
    """Test triples against false ones."""
    true = classify(run, run.graph.test, calibration=calibration)
    wrong = classify(run, false, calibration=calibration)
    return Quality.of(
        _joined([True] * len(true), [False] * len(wrong)),
        _joined(true.true, wrong.true),
        _joined(true.probabilities, wrong.probabilities),
    )


def _joined(first: Any, second: Any) -> Any:
    return np.concatenate([np.asarray(first), np.asarray(second)])


def negatives_of(run: hale.Run) -> dict[str, Ids]:
    """The hard negatives beside a graph's splits; names that the graph lacks are left out."""
    place = locate(run.graph.name)
    if place is None:
        raise SystemExit(f"{run.graph.name} is not on this machine; set HALE_DATA.")
    found = {}
    for split in ("valid", "test"):
        file = place.folder / f"{split}_negatives.txt"
        if not file.exists():
            raise SystemExit(f"{file} is missing: copy it from github.com/tsafavi/codex.")
        judged = read_labelled(file, run.graph, skip_bad=True)
        if judged.faults:
            print(f"{file.name}: {len(judged.faults)} left out")
        found[split] = judged.triples
    return found


def obtained(name: str, path: Path | None, options: argparse.Namespace) -> hale.Run:
    """The run at ``path``, or one trained now."""
    if path is not None:
        return hale.load_run(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hale.errors.HaleWarning)
        graph = hale.load(name)
    return hale.train(graph, model=options.model, dim=options.dim, budget=options.budget)


def page(result: dict[str, Any]) -> str:
    """The figures as a page."""
    here = result["machine"]
    lines = [
        "# Triple classification on CoDEx",
        "",
        f"Written by `{result['command']}` on {here['cores']} cores ({here['cpu']}), "
        f"{here['threads']} threads.",
        "Thresholds per relation and calibration from validation only; `hard` is the manner of the "
        "CoDEx paper",
        "(hard negatives in validation and test), `sampled` has random corruptions in both, `cold` "
        "random ones in",
        "validation and hard ones in test, `questions` the answers to validation queries and hard "
        "ones in test. The calibration error",
        "is the expected calibration error over ten bins.",
        "",
    ]
    for run in result["runs"]:
        lines += [
            f"## {run['graph']}",
            "",
            f"{run['model']}, d = {run['dim']}, {run['seconds']:.0f} s of training, "
            f"test MRR {run['mrr']:.3f}, Hits@10 {run['hits@10']:.3f}.",
            "",
            "| way | method | accuracy | F1 | calibration error | triples |",
            "|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {row['way']} | {row['method']} | {row['accuracy']:.3f} | {row['f1']:.3f} | "
            f"{row['calibration_error']:.3f} | {row['count']:,} |"
            for row in result["rows"]
            if row["graph"] == run["graph"]
        ]
        lines += [
            f"| hard | published, {name} | {accuracy:.3f} | {f1:.3f} | | |"
            for name, (accuracy, f1) in PUBLISHED[run["graph"]].items()
        ]
        lines += [
            "",
            "On validation triples alone, fitted on one half and judged on the other:",
            "",
            "| way | method | accuracy | log loss | calibration error |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {row['way']} | {row['method']} | {row['accuracy']:.3f} | {row['log_loss']:.3f} | "
            f"{row['calibration_error']:.3f} |"
            for row in run["halves"]
        ]
        lines.append("")
    lines += ["![Reliability](classify.png)", ""]
    return "\n".join(lines)


def main() -> None:
    """Train or load, judge, print, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("graphs", nargs="*", help=f"any of {', '.join(GRAPHS)}")
    parser.add_argument("--run", action="append", default=[], metavar="GRAPH=FOLDER")
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--model", default="rotl")
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--out", type=Path, help="folder for classify.json, .md and .png")
    options = parser.parse_args()
    paths = dict(text.split("=", 1) for text in options.run)
    names = options.graphs or list(paths) or list(GRAPHS)
    for name in {*names, *paths} - set(GRAPHS):
        parser.error(f"unknown graph {name!r}; there are {', '.join(GRAPHS)}")

    rows: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    drawn: dict[str, Quality] = {}
    for name in names:
        run = obtained(name, Path(paths[name]) if name in paths else None, options)
        report = hale.evaluate(run, "test").overall
        runs.append(
            {
                "graph": name,
                "model": run.settings.model,
                "dim": run.settings.dim,
                "seconds": run.summary.seconds,
                "mrr": report.mrr,
                "hits@10": report.hits[10],
            }
        )
        negatives = negatives_of(run)
        runs[-1]["halves"] = halves(run, negatives["valid"])
        found, qualities = judge(run, negatives)
        rows += found
        drawn |= qualities
        for row in found:
            print(
                f"{name}  {row['way']:8} {row['method']:9} accuracy {row['accuracy']:.4f}  "
                f"F1 {row['f1']:.4f}  calibration error {row['calibration_error']:.4f}",
                flush=True,
            )
    command = shlex.join(["python", *sys.argv])
    result = {"machine": machine(), "command": command, "runs": runs, "rows": rows}
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "classify.json").write_text(json.dumps(result, indent=1) + "\n")
        (options.out / "classify.md").write_text(page(result))
        plot_reliability(drawn, options.out / "classify.png")


if __name__ == "__main__":
    main()

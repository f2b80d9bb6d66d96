"""Check the rule for graphs without a recipe, and write docs/results/rule.md.

    python benchmarks/rule.py                          all graphs, 120 s a run (about half an hour)
    python benchmarks/rule.py wikidata-83k --budget 60s
    python benchmarks/rule.py --render                 render what is there

RotL, d = 32, on validation triples: the rule's settings, the general defaults without it, and the
paper's, one after the other on each graph. The rule was fitted on WN18RR, FB15k-237 and CoDEx;
the bundled wordnet, and wikidata-83k, which is taken from HALE_DATA or left out, had no part in
it. Runs are kept one by one in docs/results/rule.json; measuring a graph again begins with none
of its own.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import hale
from hale.data.graph import Graph
from hale.errors import HaleError, HaleWarning
from hale.lab.bench.machine import machine
from hale.runs.systems import counts_of
from hale.settings import parse_duration
from hale.settings.recipes.rule import by_rule

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
FILE = RESULTS / "rule.json"
GRAPHS = ("wn18rr", "fb15k-237", "codex-m", "codex-s", "wordnet", "wikidata-83k")
UNSEEN = ("wordnet", "wikidata-83k")


def rivals(graph: Graph) -> dict[str, dict[str, Any]]:
    """The settings that are compared, by name."""
    return {
        "rule": {"recipe": "none", **by_rule(counts_of(graph))},
        "defaults": {"recipe": "none"},
        "paper": {"recipe": "paper"},
    }


def measure(graph: Graph, values: dict[str, Any], budget: float) -> dict[str, Any]:
    """Train once; quality on the validation split."""
    run = hale.train(graph, model="rotl", dim=32, budget=budget, **values)
    if run.summary.stopped_by == "interrupt":
        raise SystemExit("interrupted; what was finished is kept")
    report = hale.evaluate(run, "valid")
    return {
        "settings": run.settings.model_dump(mode="json"),
        "machine": machine(),
        "mrr": report.mrr,
        "hits@10": report.hits[10],
        "epochs": run.summary.epochs,
    }


def render(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """The page, from what was measured."""
    here = next(iter(next(iter(found.values())).values()))["machine"]
    lines = [
        "# The rule, checked",
        "",
        "Written by `python benchmarks/rule.py` from rule.json beside it. Machine: "
        f"{here['cpu']}, {here['cores']} cores, torch {here['torch']}. RotL, d = 32: MRR / Hits@10 "
        "on all validation triples, in the state that validation kept; one run each, "
        "seed 0. The rule (docs/recipes.md) was fitted on the graphs without a star; those with "
        "one had no part in it. The paper's grids (`--recipe paper`) stand for its settings: it "
        "does not say which it took.",
        "",
        "| graph | seconds, threads | rule | defaults | paper's grids |",
        "|---|---|---|---|---|",
    ]
    for graph in (name for name in GRAPHS if name in found):
        rows = found[graph]
        any_row = next(iter(rows.values()))
        cells = [
            f"{rows[name]['mrr']:.4f} / {rows[name]['hits@10']:.4f}" if name in rows else ""
            for name in ("rule", "defaults", "paper")
        ]
        lines.append(
            f"| {graph}{' *' if graph in UNSEEN else ''} | {any_row['settings']['budget']:g}, "
            f"{any_row['machine']['threads']} | {' | '.join(cells)} |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure what is asked for, keep it, render."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", help=", ".join(GRAPHS))
    parser.add_argument("--budget", type=parse_duration, default=120.0, help="of a run (120s)")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", HaleWarning)
    if unknown := set(asked.graphs) - set(GRAPHS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(GRAPHS)}")
    found: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    graphs = []
    for name in [] if asked.render else asked.graphs or GRAPHS:
        try:
            graphs.append(hale.load(name))
        except HaleError as error:
            print(f"{name} is left out: {error}")
    for graph in graphs:
        found.pop(graph.name, None)
        for rival, values in rivals(graph).items():
            row = measure(graph, values, asked.budget)
            print(f"{graph.name} {rival}: MRR {row['mrr']:.4f}, Hits@10 {row['hits@10']:.4f}")
            found.setdefault(graph.name, {})[rival] = row
            FILE.write_text(json.dumps(found, indent=1) + "\n")
    if not found:
        parser.error(f"nothing is measured yet: {FILE.name} is not there")
    (RESULTS / "rule.md").write_text(render(found))


if __name__ == "__main__":
    main()

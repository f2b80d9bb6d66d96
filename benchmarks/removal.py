"""Facts taken back: where they rank after an update, against a run that never saw them.

    python benchmarks/removal.py codex-s --out docs/results

For each seed a run is trained on the graph, one on the graph without 200 training facts drawn
evenly, and one without the first 20 of them, all by the same settings. The first is updated by
removing all 200, the 20, and pairs of the 20. MRR is of both directions, filtered by the facts that
stay; `around` are the validation facts that share an entity with a removed one.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import hale
from hale.data.graph import Graph, Ids
from hale.evaluation.ranks import filtered_ranks
from hale.lab.bench.machine import machine
from hale.training.trainer import Trainer

MANY, SOME, PAIR = 200, 20, 2
WHEN = ("before", "after", "never")


def mrr(run: hale.Run, graph: Graph, triples: Ids) -> float:
    """Filtered by the facts of ``graph``."""
    both = graph.both_directions(triples)
    return float((1 / filtered_ranks(run.model.eval(), both, graph.known_answers)).mean())


def without(graph: Graph, places: Ids) -> Graph:
    """The graph that never had the training facts at these places."""
    return replace(graph, train=np.delete(graph.train, places, axis=0))


def measure(options: argparse.Namespace, seed: int) -> list[dict[str, Any]]:
    """One row a removal."""
    graph = hale.load(options.graph)
    places = np.random.default_rng(100 + seed).choice(len(graph.train), MANY, replace=False)
    full = hale.train(graph, epochs=options.epochs, seed=seed, threads=1)
    never = {
        count: Trainer(without(graph, places[:count]), full.settings).fit()
        for count in (MANY, SOME)
    }
    asked = [(places, never[MANY]), (places[:SOME], never[SOME])]
    pairs = np.split(places[: PAIR * options.pairs], options.pairs)
    rows = []
    for some, unseen in [*asked, *((pair, never[SOME]) for pair in pairs)]:
        gone = graph.train[some]
        names = [
            (graph.entities[h], graph.relations[r], graph.entities[t]) for h, r, t in gone.tolist()
        ]
        after = hale.update(full, remove=names, budget=options.budget, threads=1)
        left = after.graph
        near = left.valid[np.isin(left.valid[:, [0, 2]], gone[:, [0, 2]]).any(axis=1)]
        runs = {"before": full, "after": after, "never": unseen}
        rows.append(
            {
                "seed": seed,
                "removed": len(gone),
                **{f"facts {name}": mrr(run, left, gone) for name, run in runs.items()},
                **{f"valid {name}": mrr(run, left, left.valid) for name, run in runs.items()},
                **{f"around {name}": mrr(run, left, near) for name, run in runs.items()},
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    return rows


def page(found: dict[str, Any], command: str) -> str:
    """The means by the number of facts removed."""
    kinds = [f"{kind} {when}" for kind in ("facts", "valid", "around") for when in WHEN]
    lines = [
        "# Facts taken back",
        "",
        f"Written by `{command}` on {found['machine']['cores']} cores, one thread. Means of MRR,",
        "of the removed facts, of all validation facts, and of those around the removed ones:",
        "before the update, after it, and in a run that never saw them. `better`: the share of",
        "removals after which the facts rank better than in that run.",
        "",
        f"| removed at once | removals | {' | '.join(kinds)} | better |",
        f"|---|---|{'---|' * (len(kinds) + 1)}",
    ]
    for count in (PAIR, SOME, MANY):
        mine = [row for row in found["rows"] if row["removed"] == count]
        means = [f"{np.mean([row[kind] for row in mine]):.3f}" for kind in kinds]
        better = np.mean([row["facts after"] > row["facts never"] for row in mine])
        lines.append(f"| {count} | {len(mine)} | {' | '.join(means)} | {better:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, and write the page and its figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("graph")
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--budget", default="4s", help="of an update")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore", hale.errors.HaleWarning)
    rows = [row for seed in range(options.seeds) for row in measure(options, seed)]
    found = {"machine": machine(), "epochs": options.epochs, "budget": options.budget, "rows": rows}
    name = Path(options.graph).name
    command = (
        f"python benchmarks/removal.py {name} --epochs {options.epochs} --budget {options.budget} "
        f"--seeds {options.seeds} --pairs {options.pairs} --out docs/results"
    )
    (options.out / "removal.json").write_text(json.dumps(found, indent=2) + "\n")
    text = page(found, command)
    (options.out / "removal.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()

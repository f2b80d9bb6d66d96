"""Tomorrow's facts: hold back a tenth of the entities, add them by update, compare with retraining.

    python benchmarks/update.py                                          CoDEx-M, 600 s and 52 s
    python benchmarks/update.py --full 100s --update 10s --out docs/results/update.json
    python benchmarks/update.py --full-epochs 60 --update-epochs 3       the same work anywhere

Every triple that touches a held-back entity is taken from train, valid and test. A run on the rest
is updated with the held-back training triples; another is trained on everything for as long as
the first. `new` are the test triples that touch a held-back entity, `old` the others. The old ones
are ranked before the update among the entities there were, and after it among all. Both runs are
ranked with the same filter: all triples of the whole graph.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import hale
from hale.data.graph import SPLITS, Graph, Ids
from hale.data.sources import graph_from_tables
from hale.evaluation.metrics import Metrics
from hale.evaluation.ranks import filtered_ranks
from hale.lab.bench.machine import machine

Names = list[tuple[str, str, str]]


def parts(graph: Graph, share: float, seed: int) -> tuple[dict[str, Names], dict[str, Names]]:
    """The triples of each split, as names: those without a held-back entity, and the others."""
    count = len(graph.entities)
    held = np.zeros(count, dtype=bool)
    held[np.random.default_rng(seed).choice(count, round(share * count), replace=False)] = True
    kept: dict[str, Names] = {}
    taken: dict[str, Names] = {}
    for split in SPLITS:
        triples = graph.split(split)
        touched = held[triples[:, [0, 2]]].any(axis=1)
        kept[split], taken[split] = names(graph, triples[~touched]), names(graph, triples[touched])
    return kept, taken


def names(graph: Graph, triples: Ids) -> Names:
    """Ids (n, 3) -> names."""
    entities, relations = graph.entities.names, graph.relations.names
    return [(entities[h], relations[r], entities[t]) for h, r, t in triples.tolist()]


def ids(graph: Graph, triples: Names) -> Ids:
    """Names -> ids (n, 3)."""
    entity, relation = graph.entities.id, graph.relations.id
    return np.array([(entity(h), relation(r), entity(t)) for h, r, t in triples], dtype=np.int64)


def quality(run: hale.Run, asked: Names, known: Names) -> dict[str, Any]:
    """Metrics of some triples, filtered by all that are known of entities that the run has."""
    graph = run.graph
    everything = Graph(
        name="known",
        entities=graph.entities,
        relations=graph.relations,
        train=ids(graph, [t for t in known if t[0] in graph.entities and t[2] in graph.entities]),
        valid=np.empty((0, 3), dtype=np.int64),
        test=np.empty((0, 3), dtype=np.int64),
    )
    both = graph.both_directions(ids(graph, asked))
    return Metrics.of(filtered_ranks(run.model, both, everything.known())).as_dict()


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train, update, retrain, and compare."""
    graph = hale.load(options.graph)
    kept, taken = parts(graph, options.share, options.seed)
    known = [triple for part in (kept, taken) for split in SPLITS for triple in part[split]]
    base_graph = graph_from_tables(kept["train"], kept["valid"], kept["test"], name=graph.name)
    limit = {"epochs": options.full_epochs} if options.full_epochs else {"budget": options.full}
    common: dict[str, Any] = {"model": options.model, "dim": options.dim, **limit}
    if options.threads:
        common["threads"] = options.threads

    base = hale.train(base_graph, out=folder / "base", **common)
    before = quality(base, kept["test"], known)
    print(f"base    {base.summary.seconds:.0f} s  old {before['mrr']:.4f}", flush=True)
    short: dict[str, Any] = (
        {"epochs": options.update_epochs} if options.update_epochs else {"budget": options.update}
    )
    given = {name: getattr(options, name) for name in ("anchor", "focus", "rate", "tolerance")}
    updated = hale.update(base, np.array(taken["train"]), **short, **given)
    new, old = (quality(updated, part["test"], known) for part in (taken, kept))
    origin = updated.origin[-1]
    seconds = sum(origin[f"{part}_seconds"] for part in ("placing", "training", "withdrawing"))
    print(f"update  {seconds:.0f} s  old {old['mrr']:.4f}  new {new['mrr']:.4f}", flush=True)
    full = hale.train(graph, out=folder / "full", **common)
    full_new, full_old = (quality(full, part["test"], known) for part in (taken, kept))
    print(
        f"full    {full.summary.seconds:.0f} s  old {full_old['mrr']:.4f}  "
        f"new {full_new['mrr']:.4f}",
        flush=True,
    )
    return {
        "machine": machine(),
        "graph": graph.name,
        "share_of_entities_held_back": options.share,
        "seed": options.seed,
        "settings": full.settings.model_dump(mode="json"),
        "held_back": {split: len(taken[split]) for split in SPLITS},
        "base": {"seconds": base.summary.seconds, "old": before},
        "update": {
            "seconds": seconds,
            "steps": updated.summary.steps,
            "withdrawn_by": origin["withdrawn_by"],
            "old": old,
            "new": new,
            **{name: origin[name] for name in ("anchor", "focus", "rate", "tolerance")},
        },
        "full": {
            "seconds": full.summary.seconds,
            "steps": full.summary.steps,
            "old": full_old,
            "new": full_new,
        },
        "new_mrr_as_share_of_full": new["mrr"] / full_new["mrr"],
        "time_as_share_of_full": seconds / full.summary.seconds,
        "fall_of_old_mrr": before["mrr"] - old["mrr"],
        "fall_of_old_mrr_by_full": before["mrr"] - full_old["mrr"],
    }


def main() -> None:
    """Measure, print, and write the figures if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--graph", default="codex-m")
    parser.add_argument("--model", default="rotl")
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--full", default="600s", help="training time of the base and full runs")
    parser.add_argument(
        "--update", default="52s", help="training time of the update, withdrawing not in it"
    )
    parser.add_argument("--full-epochs", type=int, help="epochs instead of --full")
    parser.add_argument("--update-epochs", type=int, help="passes over new facts, not --update")
    parser.add_argument("--share", type=float, default=0.1, help="of the entities, held back")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    for name in ("anchor", "focus", "rate", "tolerance"):
        parser.add_argument(f"--{name}", type=float, help=f"the update's {name}")
    parser.add_argument("--runs", type=Path, help="keep the runs in this folder")
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file as well")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.runs:
        results = measure(options, options.runs)
    else:
        with tempfile.TemporaryDirectory() as folder:
            results = measure(options, Path(folder))
    print(
        f"new MRR {results['new_mrr_as_share_of_full']:.1%} of full retraining in "
        f"{results['time_as_share_of_full']:.1%} of its time; "
        f"old MRR falls by {results['fall_of_old_mrr']:.4f} "
        f"(by full retraining {results['fall_of_old_mrr_by_full']:.4f})"
    )
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()

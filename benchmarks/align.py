"""Entities of two real graphs that are the same: CoDEx-M and wikidata-83k.

    python benchmarks/align.py                            all systems, 120 s each on one thread
    python benchmarks/align.py --budget 30s hale          one of them, for a short while
    python benchmarks/align.py --out docs/results         align.json and align.md

Both graphs name entities by their Wikidata id, and every entity of CoDEx-M is in wikidata-83k. The
names are hidden: 30 % of the shared entities are given as known pairs, the others are to be found,
among all entities of the other graph that stand in no pair. Relations stay apart, though their
names are the same. Systems:

    hale       joint training under HaLE, four rounds (hale align)
    one-round  the same in one round: nothing that was found is trained on
    samneg     joint training under SamNeg, four rounds
    mtranse    two TransE runs and a linear map, fitted by least squares on the known pairs (after
               Chen et al., IJCAI 2017)

Cells are kept in align.json as they are finished; the same command goes on with those that lack.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import hale
from hale.answers.align import align_graphs
from hale.answers.counterparts import Spaces
from hale.data.files import write_text
from hale.data.graph import SPLITS, Graph, Ids
from hale.lab.bench.machine import machine
from hale.settings import parse_duration

LEFT, RIGHT = "codex-m", "wikidata-83k"
SEEDS = 0.3
DIM = 64
JOINT: dict[str, dict[str, Any]] = {
    "hale": {"strategy": "hale", "rounds": 4},
    "one-round": {"strategy": "hale", "rounds": 1},
    "samneg": {"strategy": "samneg", "rounds": 4},
}
SYSTEMS = (*JOINT, "mtranse")


def task(left: Graph, right: Graph, share: float = SEEDS) -> tuple[Ids, Ids]:
    """Known and hidden pairs (n, 2), (m, 2) of the entities that both graphs have by name."""
    there = right.entities.ids(left.entities.names)
    pairs = np.stack([np.arange(len(there)), there], axis=1)[there >= 0]
    order = np.random.default_rng(0).permutation(len(pairs))
    count = round(share * len(pairs))
    return pairs[order[:count]], pairs[order[count:]]


def ceiling(left: Graph, right: Graph, seeds: Ids, hidden: Ids) -> dict[str, float]:
    """What facts in common tell of the hidden pairs: shares of them.

    A fact is common if both graphs have it between the same two entities, by the same relation.
    """
    relation = right.relations.ids(left.relations.names)
    entity = right.entities.ids(left.entities.names)
    facts = np.concatenate([left.split(split) for split in SPLITS])
    moved = np.stack([entity[facts[:, 0]], relation[facts[:, 1]], entity[facts[:, 2]]], axis=1)
    inside = np.flatnonzero((moved >= 0).all(axis=1))
    inside = inside[right.split_index.codes(moved[inside]) >= 0]
    common = facts[inside]
    known = np.zeros(len(left.entities), dtype=bool)
    known[seeds[:, 0]] = True
    any_common = np.bincount(common[:, [0, 2]].ravel(), minlength=len(known))[hidden[:, 0]]
    ends = [common[known[common[:, 2 - end]], end] for end in (0, 2)]
    with_seed = np.bincount(np.concatenate(ends), minlength=len(known))[hidden[:, 0]]
    return {
        "facts_in_common": len(inside) / len(facts),
        "any_common_fact": float(np.mean(any_common > 0)),
        "common_fact_with_a_seed": float(np.mean(with_seed > 0)),
        "two_common_facts_with_a_seed": float(np.mean(with_seed > 1)),
        "three_common_facts_with_a_seed": float(np.mean(with_seed > 2)),
    }


def told(ranks: NDArray[np.float64]) -> dict[str, float]:
    """Hits@1, Hits@10 and MRR."""
    return {
        "hits@1": float(np.mean(ranks <= 1)),
        "hits@10": float(np.mean(ranks <= 10)),
        "mrr": float(np.mean(1 / ranks)),
    }


def joint(name: str, graphs: tuple[Graph, Graph], seeds: Ids, hidden: Ids, seconds: float) -> Any:
    """The ranks of hidden pairs by joint training, both directions."""
    found = align_graphs(
        *graphs, seeds, budget=seconds, model="rotl", dim=DIM, threads=1, **JOINT[name]
    )
    ways = {"left to right": False, "right to left": True}
    rows = {way: told(found.ranks(hidden, of_right=back)) for way, back in ways.items()}
    return {**rows, "settled": len(found.added), "kept apart, found": found.hits_apart()}


def mapped(graphs: tuple[Graph, Graph], seeds: Ids, hidden: Ids, seconds: float) -> Any:
    """The same by two runs of half the time each and a linear map from the one to the other."""
    options: dict[str, Any] = {"model": "transe", "dim": DIM, "threads": 1}
    vectors = [
        hale.train(graph, budget=seconds / 2, **options).model.places().detach() for graph in graphs
    ]
    ours, theirs = (torch.from_numpy(seeds[:, side]) for side in (0, 1))
    fitted = torch.linalg.lstsq(vectors[0][ours], vectors[1][theirs]).solution
    free = [
        np.setdiff1d(np.arange(len(graph.entities)), seeds[:, side])
        for side, graph in enumerate(graphs)
    ]
    chosen = [torch.from_numpy(ids) for ids in free]
    spaces = Spaces(vectors[0][chosen[0]] @ fitted, vectors[1][chosen[1]])
    places = [np.searchsorted(ids, hidden[:, side]) for side, ids in enumerate(free)]
    return {
        "left to right": told(spaces.ranks(places[0], places[1])),
        "right to left": told(spaces.ranks(places[1], places[0], of_right=True)),
    }


def page(results: dict[str, Any]) -> str:
    """The results as a page."""
    lines = [
        f"# The same entity in {LEFT} and {RIGHT}",
        "",
        f"Written by `python benchmarks/align.py` on {results['machine']['cpu']}, one thread. "
        f"Entity names are hidden; {results['seeds']:,} of {results['pairs']:,} shared entities "
        f"are given as pairs, the other {results['hidden']:,} are looked for among all that "
        f"stand in no pair. d = {DIM}. Joint training has the whole clock; the two runs of "
        "`mtranse` share it, with the settings that `hale train` has for each graph.",
        "",
        "| system | seconds of training | way | Hits@1 | Hits@10 | MRR |",
        "|---|---|---|---|---|---|",
    ]
    for name, cell in results["cells"].items():
        for way in ("left to right", "right to left"):
            row = cell[way]
            lines.append(
                f"| {name.split(' ')[0]} | {cell['seconds']:g} | {way} | {row['hits@1']:.3f} "
                f"| {row['hits@10']:.3f} | {row['mrr']:.3f} |"
            )
    lines += ["", "What the graphs allow, of the hidden pairs and the facts of the left graph:", ""]
    if results["ceiling"]["facts_in_common"] == 1:
        lines[-2] = (
            "The right graph has every fact of the left one, so a matcher by structure could find "
            "nearly all. Of the hidden pairs and the facts of the left graph:"
        )
    lines += [
        f"- {name.replace('_', ' ')}: {share:.3f}" for name, share in results["ceiling"].items()
    ]
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure what is asked for, and lacks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=", ".join(SYSTEMS))
    parser.add_argument("--budget", default="120s", help="seconds of training of each")
    parser.add_argument("--out", type=Path, default=Path("runs"))
    options = parser.parse_args()
    if strange := set(options.systems) - set(SYSTEMS):
        parser.error(f"no such system: {', '.join(sorted(strange))}")
    seconds = parse_duration(options.budget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hale.errors.HaleWarning)
        graphs = hale.load(LEFT), hale.load(RIGHT)
    seeds, hidden = task(*graphs)
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "align.json"
    cells = json.loads(file.read_text())["cells"] if file.exists() else {}
    for name in options.systems or SYSTEMS:
        key = f"{name} {seconds:g}"
        if key in cells:
            continue
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hale.errors.HaleWarning)
            if name == "mtranse":
                found = mapped(graphs, seeds, hidden, seconds)
            else:
                found = joint(name, graphs, seeds, hidden, seconds)
        cells[key] = {**found, "seconds": seconds, "wall": time.perf_counter() - began}
        results = {
            "machine": machine(),
            "pairs": len(seeds) + len(hidden),
            "seeds": len(seeds),
            "hidden": len(hidden),
            "ceiling": ceiling(*graphs, seeds, hidden),
            "cells": cells,
        }
        write_text(file, json.dumps(results, indent=1) + "\n")
        write_text(options.out / "align.md", page(results))
        print(key, cells[key], flush=True)


if __name__ == "__main__":
    main()

"""Rank files: the rank of every test triple of a cell, so that rows are compared by triples.

    cells/ranks/KEY.npz      ranks, twice each (a tie makes halves), both directions
    cells/ranks/DATASET.npz  what the triples are: relations, and which have seen entities only

Ranks are small whole numbers, so a file is a few kilobytes on WN18RR and some fifty on FB15k-237.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hale.data.files import make_folder, write_whole
from hale.data.graph import Graph
from hale.lab.paper.damaged import read_or_miss

Floats = NDArray[np.float64]

FOLDER = "ranks"


@dataclass(frozen=True, eq=False)
class RankPair:
    """The ranks of n triples, (2n,): of their tails, then of their heads; with a rule and without.

    ``ruled`` is None where the cardinality rule does not go with the system.
    """

    alone: Floats
    ruled: Floats | None = None


@dataclass(frozen=True, eq=False)
class Triples:
    """What the test triples of a data set are: (n,) relations by number, (n,) whether seen."""

    names: tuple[str, ...]  # of relations
    relations: NDArray[np.int64]
    seen: NDArray[np.bool_]  # both entities occur in train


def write_ranks(cells: Path, key: str, found: RankPair) -> None:
    """Write a cell's ranks, whole or not at all."""
    arrays = {"alone": found.alone} | ({} if found.ruled is None else {"ruled": found.ruled})
    _write(cells, key, {name: _packed(ranks) for name, ranks in arrays.items()})


def read_ranks(cells: Path, key: str) -> RankPair | None:
    """The ranks of a cell; None where none are kept, or they are damaged."""
    path = cells / FOLDER / f"{key}.npz"
    return read_or_miss(path, _ranks_in) if path.is_file() else None


def _ranks_in(path: Path) -> RankPair:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
        alone = _halved(content["alone"])
        ruled = _halved(content["ruled"]) if "ruled" in content else None
    if ruled is not None and ruled.shape != alone.shape:
        raise ValueError(f"{len(alone)} ranks, {len(ruled)} by the rule")
    return RankPair(alone, ruled)


def _halved(doubled: NDArray[Any]) -> Floats:
    """Ranks as they were: from 1 on, of tails and heads of some triples."""
    if doubled.dtype.kind != "u" or doubled.ndim != 1 or not len(doubled) or len(doubled) % 2:
        raise ValueError(f"ranks are not {doubled.dtype} {doubled.shape}")
    if doubled.min() < 2:
        raise ValueError("a rank is below 1")
    halved: Floats = doubled / 2
    return halved


def write_triples(cells: Path, dataset: str, graph: Graph) -> None:
    """Write what a data set's test triples are, unless that is there already."""
    if (cells / FOLDER / f"{dataset}.npz").is_file():
        return
    trained = np.zeros(len(graph.entities), dtype=bool)
    trained[graph.train[:, [0, 2]]] = True
    arrays: dict[str, NDArray[Any]] = {
        "names": np.array(graph.relations.names),
        "relations": graph.test[:, 1].astype(np.uint16),
        "seen": np.asarray(trained[graph.test[:, [0, 2]]].all(axis=1)),
    }
    _write(cells, dataset, arrays)


def read_triples(cells: Path, dataset: str) -> Triples | None:
    """What a data set's test triples are; None where that is not kept, or is damaged."""
    path = cells / FOLDER / f"{dataset}.npz"
    return read_or_miss(path, _triples_in) if path.is_file() else None


def _triples_in(path: Path) -> Triples:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
        names, relations, seen = (content[name] for name in ("names", "relations", "seen"))
    kinds = names.dtype.kind, relations.dtype.kind, seen.dtype.kind
    if kinds != ("U", "u", "b") or names.ndim != 1 or relations.ndim != 1:
        raise ValueError("it holds no names, relations and marks")
    if relations.shape != seen.shape or relations.max(initial=0) >= len(names):
        raise ValueError("its relations are none of its names, or its marks are of other triples")
    return Triples(tuple(names.tolist()), relations.astype(np.int64), seen)


def _packed(ranks: Floats) -> NDArray[Any]:
    doubled = np.rint(2 * ranks)
    small = doubled.max(initial=0) < 1 << 16
    packed: NDArray[Any] = doubled.astype(np.uint16 if small else np.uint32)
    return packed


def _write(cells: Path, name: str, arrays: dict[str, NDArray[Any]]) -> None:
    target = cells / FOLDER / f"{name}.npz"
    make_folder(target.parent)

    def save(path: Path) -> None:
        with path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    write_whole(target, save)

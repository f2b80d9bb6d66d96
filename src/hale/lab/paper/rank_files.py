"""Rank files: the rank of every triple of a cell, so that rows are compared by triples.

    cells/ranks/KEY.npz      ranks, twice each (a tie makes halves), both directions
    cells/ranks/DATASET.npz  what test triples are: relations, and which have seen entities only

Ranks are small whole numbers, so a file is some tens of kilobytes on WN18RR, twice that on
FB15k-237. Those without any rule are kept as what they differ by, which is next to nothing.
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
class Ranks:
    """The ranks of n test triples, (2n,): of their tails, then of their heads.

    ``headline`` has an entity last among the answers to a query about itself, for relations of
    which train says so; ``plain`` goes by scores alone; ``ruled`` has the cardinality rule beside,
    None where it does not go with the system. ``valid`` (2v,) is the headline of v validation
    triples.
    """

    headline: Floats
    plain: Floats
    ruled: Floats | None
    valid: Floats


@dataclass(frozen=True, eq=False)
class Triples:
    """What the test triples of a data set are: (n,) relations by number, (n,) whether seen."""

    names: tuple[str, ...]  # of relations
    relations: NDArray[np.int64]
    seen: NDArray[np.bool_]  # both entities occur in train


def write_ranks(cells: Path, key: str, found: Ranks) -> None:
    """Write a cell's ranks, whole or not at all."""
    arrays = {"headline": found.headline, "valid": found.valid}
    arrays |= {} if found.ruled is None else {"ruled": found.ruled}
    packed = {name: _packed(ranks) for name, ranks in arrays.items()}
    apart = np.rint(2 * found.plain) - np.rint(2 * found.headline)
    _write(cells, key, {**packed, "plain_less_headline": apart.astype(np.int32)})


def read_ranks(cells: Path, key: str) -> Ranks | None:
    """The ranks of a cell; None where none are kept, or they are damaged."""
    path = cells / FOLDER / f"{key}.npz"
    return read_or_miss(path, _ranks_in) if path.is_file() else None


def _ranks_in(path: Path) -> Ranks:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
        headline, valid = _halved(content["headline"]), _halved(content["valid"])
        ruled = _halved(content["ruled"]) if "ruled" in content else None
        apart = content["plain_less_headline"]
    if apart.dtype.kind != "i" or any(
        x.shape != headline.shape for x in (apart, ruled) if x is not None
    ):
        raise ValueError("its ranks are not of the same triples")
    plain = headline + apart / 2
    if plain.min() < 1:
        raise ValueError("a rank is below 1")
    return Ranks(headline=headline, plain=plain, ruled=ruled, valid=valid)


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

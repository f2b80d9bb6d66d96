"""Clusters: where points of the plane are dense, named by the facts over-represented there."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph, Ids
from hale.data.keys import places_in

Floats = NDArray[np.float32]

BINS = 128  # cells a side
WIDTHS = [1.15**step for step in range(18)]  # of the blur, in cells
MOST = 24  # clusters
LEAST_SHARE = 1 / 400  # of all points, in a cluster that is worth a name
TOLD = 5  # facts that are told of a cluster
LEAST_HELD = 3  # entities of a cluster that have a fact worth naming it by


@dataclass(frozen=True)
class Trait:
    """A fact with one place open that more entities of a cluster have than chance would give it.

    ``inside`` of the cluster's entities have it, ``overall`` of all. With ``outward`` they are
    its heads, (?, relation, other), otherwise its tails; ``other`` is None for any.
    """

    relation: str
    outward: bool
    other: str | None
    inside: int
    overall: int

    def __str__(self) -> str:
        if self.other is None:
            return f"has {self.relation}" if self.outward else f"is {self.relation}"
        between = ": " if self.outward else " of "
        return self.relation + between + self.other


@dataclass(frozen=True)
class Cluster:
    """Points that lie together: how many, where their middle is, and what they share."""

    size: int
    x: float
    y: float
    traits: tuple[Trait, ...]

    @property
    def name(self) -> str:
        """What is most over-represented."""
        return str(self.traits[0]) if self.traits else f"{self.size:,} entities"

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "traits": [asdict(trait) for trait in self.traits]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Cluster:
        """Back from ``as_dict``."""
        return cls(**{**values, "traits": tuple(Trait(**trait) for trait in values["traits"])})


def find_clusters(xy: Floats) -> Ids:
    """The cluster of each point (N, 2) of the square from -1 to 1: -> (N,), -1 for none.

    The square is cut into cells, their counts are blurred, and every cell leads to the densest
    of its neighbours: cells that lead to one summit are a cluster. It is blurred more until
    there are at most MOST; those with few points are none.
    """
    cells = np.clip(((xy + 1) / 2 * BINS).astype(np.int64), 0, BINS - 1)
    cell = cells[:, 1] * BINS + cells[:, 0]
    counts = np.bincount(cell, minlength=BINS * BINS).reshape(BINS, BINS).astype(np.float64)
    found = np.full(len(xy), -1, dtype=np.int64)
    for width in WIDTHS:
        summit = _summits(_blurred(counts, width))[cell]
        peaks, sizes = np.unique(summit, return_counts=True)
        large = np.flatnonzero(sizes >= max(LEAST_HELD, LEAST_SHARE * len(xy)))
        order = large[np.argsort(-sizes[large], kind="stable")]  # the largest is cluster 0
        number = np.full(BINS * BINS, -1, dtype=np.int64)
        number[peaks[order]] = np.arange(len(order))
        found = number[summit]
        if len(order) <= MOST:
            break
    return found


def _blurred(counts: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """Counts spread by a Gaussian of so many cells, row by row and column by column."""
    reach = int(np.ceil(3 * width))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    for _ in range(2):
        padded = np.pad(counts, ((reach, reach), (0, 0)))
        counts = sum(weight * padded[place : place + BINS] for place, weight in enumerate(kernel))
        counts = counts.T
    return counts


def _summits(heights: NDArray[np.float64]) -> Ids:
    """The summit that one comes to from each cell by always going to the highest around it."""
    side = len(heights)
    padded = np.pad(heights, 1, constant_values=-1.0)
    own = np.arange(side * side).reshape(side, side)
    best, lead = heights.copy(), own.copy()
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            around = padded[1 + down : 1 + down + side, 1 + right : 1 + right + side]
            higher = around > best
            best[higher] = around[higher]
            lead[higher] = (own + down * side + right)[higher]
    flat = lead.ravel()
    while not np.array_equal(flat[flat], flat):
        flat = flat[flat]
    return flat


def describe(graph: Graph, xy: Floats, cluster: Ids) -> list[Cluster]:
    """The clusters of points, each with its traits, the most over-represented first.

    Of the facts of train, by the log-likelihood ratio of having one inside against outside:
    G = 2 sum over (has, has not) x (inside, outside) of n ln(n / expected). A single fact names
    a cluster before a mere part in a relation does.
    """
    sizes = np.bincount(cluster[cluster >= 0], minlength=int(cluster.max(initial=-1)) + 1)
    held = _held(graph)
    mine = cluster[held.entity]
    keys = mine[mine >= 0] * len(held.codes) + held.fact[mine >= 0]
    keys, inside = _counted(keys)
    owner, fact = np.divmod(keys, max(1, len(held.codes)))
    overall = held.overall[fact]
    weight = _surprise(inside, overall, sizes[owner], len(graph.entities))
    weight[inside < LEAST_HELD] = 0
    any_other = held.codes[fact] < 2 * len(graph.relations)
    found = []
    for number, size in enumerate(sizes.tolist()):
        rows = np.flatnonzero((owner == number) & (weight > 0))
        order = rows[np.lexsort((-weight[rows], any_other[rows]))][:TOLD]
        traits = [
            _trait(graph, int(held.codes[fact[row]]), int(inside[row]), int(overall[row]))
            for row in order
        ]
        middle = np.median(xy[cluster == number], axis=0)
        found.append(Cluster(size, float(middle[0]), float(middle[1]), tuple(traits)))
    return found


class _Held(NamedTuple):
    """Which entity has which fact, each pair once, and how many entities have each.

    Facts are those that at least LEAST_HELD entities have. ``fact`` (n,) numbers them; ``codes``
    says which each is: 0 to 2R - 1 are parts in a relation, as head (r) and as tail (r + R), and
    2R + part * N + other is the fact with a certain other entity.
    """

    entity: Ids
    fact: Ids
    codes: Ids
    overall: Ids


def _held(graph: Graph) -> _Held:
    num, parts = len(graph.entities), 2 * len(graph.relations)
    both = graph.both_directions(graph.train)
    holder, part = np.divmod(_counted(both[:, 0] * parts + both[:, 1])[0], parts)
    entity = np.concatenate([holder, both[:, 0]])
    every = np.concatenate([part, parts + both[:, 1] * num + both[:, 2]])
    codes, overall = _counted(every)
    often = overall >= LEAST_HELD  # what fewer have names no cluster, and is most of a large graph
    fact = places_in(codes[often], every)
    pairs = np.flatnonzero(fact >= 0)
    return _Held(entity[pairs], fact[pairs], codes[often], overall[often])


def _counted(values: Ids) -> tuple[Ids, Ids]:
    """Each value once, ascending, and how often it occurs: (n,) -> (u,), (u,).

    As np.unique, whose hashing took 4.7 s on 6 million values that are sorted in under one.
    """
    values = np.sort(values)
    first = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
    return values[first], np.diff(first, append=len(values))


def _surprise(inside: Ids, overall: Ids, size: Ids, total: int) -> NDArray[np.float64]:
    """The log-likelihood ratio; 0 for what is not over-represented."""
    has = np.stack([inside, overall - inside]).astype(np.float64)
    sizes = np.stack([size, total - size]).astype(np.float64)
    ratio = np.zeros(len(inside))
    for observed, share in ((has, overall / total), (sizes - has, 1 - overall / total)):
        expected = sizes * share
        with np.errstate(divide="ignore", invalid="ignore"):
            part = observed * np.log(observed / expected)
        ratio += 2 * np.where(observed > 0, part, 0.0).sum(axis=0)
    over = has[0] * sizes[1] > has[1] * sizes[0]
    return np.where(over, ratio, 0.0)


def _trait(graph: Graph, fact: int, inside: int, overall: int) -> Trait:
    num, count = len(graph.entities), len(graph.relations)
    part, other = (fact, None) if fact < 2 * count else divmod(fact - 2 * count, num)
    name = None
    if other is not None:
        named = graph.entities[other]
        name = graph.label(named) or named
    return Trait(graph.relations[part % count], part < count, name, inside, overall)

"""Significance: how sure a figure is, and whether two systems differ, triple by triple."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRAWS = 1000  # of a bootstrap
FLIPS = 4999  # of a paired test: of twenty, each may still tell
LEVEL = 0.01  # below which a difference is called one
PART = 1 << 22  # numbers that are drawn at once


class Interval(NamedTuple):
    """Where 95 % of the means lie that would be found on other triples."""

    low: float
    high: float


class Paired(NamedTuple):
    """How much better one system is than another, in MRR, and how likely that is by chance."""

    gain: float
    p: float

    @property
    def tells(self) -> bool:
        """Whether they differ."""
        return self.p < LEVEL


def by_triple(seeds: Sequence[Floats]) -> Floats:
    """The reciprocal rank of each triple, both directions and all seeds averaged: (2n,)s -> (n,).

    The two ranks of a triple go together, so triples are what is drawn.
    """
    found: Floats = np.mean([(1 / ranks).reshape(2, -1).mean(axis=0) for ranks in seeds], axis=0)
    return found


def interval(values: Floats, *, seed: int = 0) -> Interval:
    """The bootstrap interval of a mean over triples (n,)."""
    draws = np.random.default_rng(seed)
    count = len(values)
    size = max(1, PART // count)
    means = [
        values[draws.integers(count, size=(min(size, DRAWS - start), count))].mean(axis=1)
        for start in range(0, DRAWS, size)
    ]
    low, high = np.percentile(np.concatenate(means), (2.5, 97.5))
    return Interval(float(low), float(high))


def paired(one: Floats, other: Floats, *, seed: int = 0) -> Paired:
    """Whether two systems differ on the same triples (n,), (n,): a test by flipped signs.

    If they did not, each difference could as well have the other sign. p is the share of flips
    whose mean is as far from 0 as the one found, that one among them.
    """
    gaps = one - other
    found = float(gaps.mean())
    draws = np.random.default_rng(seed)
    size = max(1, PART // max(1, len(gaps)))
    as_far = 0
    for start in range(0, FLIPS, size):
        count = min(size, FLIPS - start)
        signs = draws.integers(0, 2, size=(count, len(gaps)), dtype=np.int8) * 2 - 1
        as_far += int((np.abs(signs @ gaps) / len(gaps) >= abs(found) - 1e-15).sum())
    return Paired(found, (1 + as_far) / (1 + FLIPS))


def holm(chances: Sequence[float]) -> list[float]:
    """Holm's correction of p of several tests, of which any could have told by chance.

    The least of m is taken m times, the next m - 1 times, and so on, none below one before it.
    """
    corrected = [0.0] * len(chances)
    largest = 0.0
    for place, i in enumerate(sorted(range(len(chances)), key=lambda i: chances[i])):
        largest = max(largest, min(1.0, (len(chances) - place) * chances[i]))
        corrected[i] = largest
    return corrected

"""Gradual ranking: part by part, so that it can be followed, and ended when its time is up.

A run's last ranking answers how good it is, and whoever gave it a minute does not wait four for the
answer. Triples are taken in one order that no seed changes, so what was ranked until then is a
sample of them all, and its standard error says how sure the figure is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hale.data.keys import Ids
from hale.settings import Settings

# Triples ranked at once; the first are few, for they tell how long the others take.
PART = 2048
FIRST = 128
# However short the time, so many are ranked: fewer would say too little.
LEAST = 500
# Of a budget, that ranking at the end may take; and however short that is, so many seconds.
SHARE = 0.1
LEAST_SECONDS = 2.0

Follow = Callable[[int, int], None]  # called with the triples ranked and all there are to rank


class Ranked(NamedTuple):
    """Places (n,) of a split's triples, ascending, and the ranks (2n,) of these, both ways."""

    places: NDArray[np.int64]
    ranks: NDArray[np.float64]


def ranking_seconds(settings: Settings) -> float | None:
    """The seconds that a run's last ranking may take; None without a budget: nothing is timed."""
    return None if settings.budget is None else max(LEAST_SECONDS, SHARE * settings.budget)


def rank_gradually(
    rank: Callable[[Ids], NDArray[np.float64]],
    triples: Ids,
    *,
    most: int | None = None,
    seconds: float | None = None,
    follow: Follow | None = None,
    agreed: Callable[[float], float] = float,
) -> Ranked:
    """The ranks of triples (n, 3), of at most so many, for at most so many seconds.

    ``rank`` gives the ranks (2b,) of b triples: their tails', then their heads'. 500 triples are
    ranked in any case, if there are so many. ``agreed`` makes one time of those that ranks of a
    group took: by clocks of their own they would part ways.
    """
    whole = len(triples)
    count = whole if most is None else min(whole, max(1, most))
    order = np.arange(whole)
    if count < whole or seconds is not None:
        order = np.random.default_rng(0).permutation(whole)[:count]
    if seconds is None:
        order.sort()
    parts: list[NDArray[np.float64]] = []
    done, size = 0, PART if seconds is None else FIRST
    began = 0.0 if seconds is None else time.perf_counter()
    while done < count and size > 0:
        end = min(count, done + size)
        parts.append(rank(triples[order[done:end]]).reshape(2, -1))
        done = end
        if follow is not None:
            follow(done, count)
        size = PART
        if seconds is not None:
            taken = agreed(time.perf_counter() - began)
            fitting = int((seconds - taken) * done / max(taken, 1e-9))
            size = min(PART, max(LEAST - done, fitting))
    places = order[:done]
    sorting = np.argsort(places)
    ranks = np.concatenate(parts, axis=1)[:, sorting] if parts else np.empty((2, 0))
    return Ranked(places[sorting], ranks.reshape(-1))

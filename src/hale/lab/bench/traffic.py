"""Traffic: what a rank sends in a training step, by formula.

Of P ranks, with B positives of rows w wide, m drawn queries that have k numbers each, and s numbers
of relations and the like in q tensors, a rank sends in the mean so many bytes a step:

    rows of heads and tails, and their gradients home   2 * 4 * 2 B w (P - 1) / P^2     all-to-all
    drawn queries, and how much they leave out          4 (P - 1) (k M + 2 m)           all-gather
    sums over the entities, and their places            r(12 m c, m u)                  all-reduce
    relations and loss, their places, the clock         r(12 s, q + 24)                 all-reduce

An all-reduce of x bytes in which y are said beside them sends r(x, y) = (P - 1) (2 x / P + y), or
(P - 1) (x + y) where that is small or there are two ranks (engine.group).
M is the most queries that any rank has drawn, where no more ranks than PIECES have a part of the
batch; c are the columns of the sums in u runs: a weight, the gradients by distance and scale, and
by the query. None of it has the number of entities in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hale.engine.group import SMALL
from hale.training.pieces import PIECES

CLOCK = 24  # bytes: nanoseconds, stop, save


@dataclass(frozen=True)
class Step:
    """The sizes of a step."""

    batch: int  # B
    row: int  # w
    queries: int  # m
    asked: int  # k
    columns: int  # c
    runs: int  # u
    shared: int  # s
    tensors: int  # q


def bytes_a_step(step: Step, ranks: int) -> dict[str, float]:
    """The bytes that a rank sends, in the mean, by collective."""
    p, m = ranks, step.queries
    gathered = step.asked * most_drawn(m, ranks) + 2 * m
    reduced = ((12 * m * step.columns, m * step.runs), (12 * step.shared, step.tensors + CLOCK))
    return {
        "all_to_all": 2 * 4 * 2 * step.batch * step.row * (p - 1) / p**2,
        "all_gather": 4 * (p - 1) * gathered,
        "all_reduce": sum(_reduced(p, x, y) for x, y in reduced),
    }


def _reduced(p: int, x: int, y: int) -> float:
    """What a rank of p sends of an all-reduce of x bytes with y beside them."""
    at_once = (p - 1) * (x + y)
    return at_once if p == 2 or at_once <= SMALL else (p - 1) * (2 * x / p + y)


def most_drawn(queries: int, ranks: int, *, seed: int = 0) -> float:
    """The most of so many draws that fall on one rank, in the mean of a thousand trials."""
    parts = min(ranks, PIECES)
    owned = np.diff(PIECES * np.arange(parts + 1) // parts) / PIECES
    drawn = np.random.default_rng(seed).multinomial(queries, owned, size=1000)
    return float(drawn.max(axis=1).mean())

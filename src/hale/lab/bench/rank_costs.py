"""A cost model of a step on P ranks: computing, waiting, sending.

    T(P) = C / min(P, cores) + rounds(P) (latency + a + (P - 1) o P / min(P, cores))
           + bytes(P) / bandwidth

C is what is computed of a step, a what a round costs beyond its latency, such as waking those who
wait, and o what a message costs its rank beyond the wire; in a round each rank sends to each other.
Messages are computed, in turns where there are fewer cores than ranks: on hosts with cores of their
own the last factor is one. Rounds and bytes are counted, latency and bandwidth given; C, a and o
are fitted to measured times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Observed:
    """A step that was measured, or is to be foretold."""

    ranks: int
    cores: int
    rounds: float
    latency: float  # seconds
    sent: float  # bytes of a rank
    bandwidth: float  # bytes a second
    seconds: float = 0.0


@dataclass(frozen=True)
class Costs:
    """Seconds of C, a and o."""

    computing: float
    round: float
    message: float

    def step(self, seen: Observed) -> float:
        """The seconds that a step takes."""
        shared = _shares(seen) @ np.array([self.computing, self.round, self.message])
        return float(shared + _given(seen))

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def fit_costs(seen: Sequence[Observed]) -> Costs:
    """The costs that explain measured steps best, relative to their times; none is negative."""
    weights = np.array([1 / one.seconds for one in seen])
    table = np.stack([_shares(one) for one in seen]) * weights[:, None]
    wanted = np.array([one.seconds - _given(one) for one in seen]) * weights
    return Costs(*_not_negative(table, wanted).tolist())


def _shares(seen: Observed) -> Floats:
    """What C, a and o are multiplied with."""
    at_once = min(seen.ranks, seen.cores)
    turns = seen.ranks / at_once
    return np.array([1 / at_once, seen.rounds, turns * seen.rounds * (seen.ranks - 1)])


def _given(seen: Observed) -> float:
    return seen.rounds * seen.latency + seen.sent / seen.bandwidth


def _not_negative(table: Floats, wanted: Floats) -> Floats:
    """Least squares without negative unknowns: the best of all choices of those above zero."""
    best, error = np.zeros(table.shape[1]), float(np.square(wanted).sum())
    for number in range(1, 1 << table.shape[1]):
        chosen = [i for i in range(table.shape[1]) if number >> i & 1]
        found = np.linalg.lstsq(table[:, chosen], wanted, rcond=None)[0]
        rest = float(np.square(table[:, chosen] @ found - wanted).sum())
        if (found >= 0).all() and rest < error:
            best, error = np.zeros(table.shape[1]), rest
            best[chosen] = found
    return best

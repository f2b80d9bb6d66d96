"""How a sum over a block of entities stands for the sum over all of them.

A query's sum runs over the N - K entities that it does not leave out; of the block's s it leaves
out k. Each entity is in the block with probability s/N, so N/s times the sum over the block has the
right mean. Under an activation bounded by gamma a weight w = exp(-h) is never below
a = exp(-gamma), which far entities come close to. What is known of all need not be estimated:

    Z = (N - K) a + N/s sum over the block of (w - a)
      = N/s sum over the block of w + a (N/s k - K)

has the right mean too, is at least (N - K) a > 0, and where nothing is left out spreads by at most

    sinh(gamma / 2) sqrt((N/s - 1) / (N - 1))

of Z, wherever the vectors are: of all numbers between a and 1 those at the two ends, a share of
a / (1 + a) of them at 1, spread most beside their mean. With K left out it is at most N / (N - K)
times that. A bound above MOST_BOUND is as good as none: exp(-gamma) would be lost in rounding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import Tensor


class Estimate(NamedTuple):
    """Z = ratio * the sum over the block + bases (m,), float64; no bases are zero."""

    ratio: float = 1.0
    bases: Tensor | None = None

    def rows(self, part: slice) -> Estimate:
        """The same for some of the queries."""
        return Estimate(self.ratio, None if self.bases is None else self.bases[part])

    def totals(self, sums: Tensor, floors: Tensor | None = None) -> Tensor:
        """exp(floor) Z from sums (m,) of exp(floor - h): (m,), in float64."""
        totals = self.ratio * sums.double()
        if self.bases is None:
            return totals
        bases = self.bases if floors is None else self.bases * floors.double().exp()
        return totals + bases


WHOLE = Estimate()

MOST_BOUND = 60.0  # exp(-60) is far from the smallest float32


def has_floor(bound: float) -> bool:
    """Whether weights under an activation with that bound have a floor to speak of."""
    return bound <= MOST_BOUND


def estimate(
    num_entities: int,
    size: int,
    *,
    bounds: Tensor | None,
    left_out: Tensor,
    left_out_here: Tensor,
) -> Estimate:
    """The estimate of N entities by s, for queries with ``bounds`` (m,) of their activation.

    ``left_out`` (m,) counts the entities that a query leaves out, K, and ``left_out_here`` those
    in the block, k. Without bounds it is the plain one, N/s times the sum.
    """
    ratio = num_entities / size
    if bounds is None:
        return Estimate(ratio)
    floors = bounds.double().neg().exp()
    return Estimate(ratio, floors * (ratio * left_out_here.double() - left_out.double()))


def spread_bound(gamma: float, num_entities: int, size: int) -> float:
    """The most that an estimate of Z can spread, as a share of Z, where nothing is left out."""
    finite = (num_entities / size - 1) / max(1, num_entities - 1)
    return math.sinh(gamma / 2) * math.sqrt(max(0.0, finite))


def size_for(gamma: float, num_entities: int, spread: float = 1.0) -> int:
    """The smallest block whose estimate spreads at most so much."""
    steep = (math.sinh(gamma / 2) / spread) ** 2
    return min(num_entities, math.ceil(num_entities / (1 + (num_entities - 1) / steep)))

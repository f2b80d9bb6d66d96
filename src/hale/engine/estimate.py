"""How a sum over a block of entities stands for the sum over all of them.

A query's sum runs over the N - K entities that it does not leave out; of the block's s it leaves
out k. Each entity is in the block with probability s/N, so N/s times the sum over the block has the
right mean. Under an activation bounded by gamma a weight w = exp(-h) is never below
a = exp(-gamma), which far entities come close to. What is known of all need not be estimated:

    Z = (N - K) a + N/s sum over the block of (w - a)
      = N/s sum over the block of w + a (N/s k - K)

has the right mean too, is at least (N - K) a > 0, and a relative spread of at most
sinh(gamma / 2) sqrt(1/s - 1/N), wherever the vectors are: of all numbers between a and 1 those
half at either end spread most beside their mean.
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
    """The most that an estimate of Z can spread, as a share of Z."""
    return math.sinh(gamma / 2) * math.sqrt(max(0.0, 1 / size - 1 / num_entities))


def size_for(gamma: float, num_entities: int, spread: float = 1.0) -> int:
    """The smallest block whose estimate spreads at most so much."""
    steep = (math.sinh(gamma / 2) / spread) ** 2
    return min(num_entities, math.ceil(1 / (1 / steep + 1 / num_entities)))

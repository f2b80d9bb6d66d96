"""Sums of numbers with a point, the same bits in whatever order they are added, and wherever.

Each part is rounded to a whole multiple of a power of two, the same for all parts of a row, and the
multiples are added as integers. The power is chosen by the largest part of the row, of all ranks,
which does not depend on an order either:

    u = 2^(e - ROOM),   |x| < 2^e,   sum = u * sum of round(x / u)

so a sum is as exact as its largest part to 54 bits, more than a float64 holds.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hale.engine.group import Group

PARTS = 8  # bits for how many parts a sum may have: 255
ROOM = 62 - PARTS
LEAST, NOT_FINITE = -900, 1000  # exponents: below the first all is zero


def exact_sum(group: Group, parts: Tensor) -> Tensor:
    """The sum of all parts of all ranks: (c, n, k) -> (n, k), float64.

    A rank may have any number c of parts, also none, all ranks together at most 255. A row in
    which any part is not finite is NaN throughout.
    """
    own = parts.detach().abs().amax(dim=(0, 2)) if len(parts) else parts.new_zeros(parts.shape[1])
    largest = group.all_reduce(exponents(own), "max")
    unit = torch.ldexp(torch.ones_like(largest, dtype=torch.float64), largest - ROOM)[:, None]
    whole = (parts.double() / unit).round_().nan_to_num_(0.0, 0.0, 0.0).long().sum(dim=0)
    summed = group.all_reduce(whole).double() * unit
    return torch.where(largest[:, None] == NOT_FINITE, torch.nan, summed)


def exponents(sizes: Tensor) -> Tensor:
    """The least e with x < 2^e of numbers from zero on: (n,) -> (n,), int32."""
    found = torch.frexp(sizes.double())[1].clamp(min=LEAST)
    found = torch.where(sizes == 0, LEAST, found)  # nothing says nothing of the others
    return torch.where(sizes.isfinite(), found, NOT_FINITE)

"""Sums of numbers with a point, the same bits in whatever order they are added, and wherever.

Each part is written in digits of 24 bits, rounded to the nearest from the highest place down:

    x = d_T 2^(24 T) + d_(T-1) 2^(24 (T-1)) + ...,   |d| <= 2^23

Places are the same for all numbers, and one below 2^(24 (T + 1) - 1) has no digit above T. So its
digits do not depend on where one begins, and are added place by place as integers. Of a row three
places count, from the highest T that any part of it has. A rank that does not know the parts of the
others sends three from its own highest place; whoever adds up moves them down where another's is
higher, and leaves out those that are then below the third. That gives what one process has of all
parts, without anything agreed on before (binned sums: Demmel and Nguyen 2015, Parallel Reproducible
Summation). A sum is as exact as its largest part to 48 bits, twice what a float32 holds.

255 parts at most: 255 * 2^23 < 2^31, so that no sum of digits leaves an int32.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from hale.engine import library as kernel
from hale.engine.group import Group
from hale.engine.shard_structures import DigitSums

WIDTH, DIGITS = 24, 3
LEAST, MOST, NOT_FINITE = -40, 42, 127  # places: below the first all is zero


def exact_sum(
    group: Group,
    parts: Tensor,
    widths: Sequence[int] | None = None,
    beside: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The sum of all parts of all ranks: (c, n, k) -> (n, k), float64.

    A rank may have any number c of parts, also none, all ranks together at most 255. ``widths``
    cut the k columns into runs, each of which has places of its own in every row; otherwise a row
    has one. Where any part of a run is not finite, all of its sums are NaN. ``beside`` are whole
    numbers, int64, that travel in the same collective and are summed too.
    """
    _, n, k = parts.shape
    cut = (k,) if widths is None else tuple(widths)
    places, digits = digit_sums(parts, cut)
    said, of_column = _packed(places, beside), _runs(n, cut)

    def merged(found: Tensor, said: Tensor, first: int) -> Tensor:
        """Digits (P, 3, w) of the columns from ``first`` on, of all ranks: -> (3, w)."""
        highest = _places(said, places.numel()).int()
        below = highest.amax(dim=0) - highest  # (P, n g) how far a rank's places are below
        if not below.any():
            return found.sum(dim=0, dtype=torch.int32)
        columns = of_column[first : first + found.shape[2]]
        below = below[:, torch.nn.functional.pad(columns, (0, found.shape[2] - len(columns)))]
        total = torch.zeros_like(found[0])
        for moved in range(DIGITS):
            there = found[:, : DIGITS - moved] * (below == moved)[:, None]
            total[moved:] += there.sum(dim=0, dtype=torch.int32)
        return total

    digits, told = group.merged(digits.view(DIGITS, n * k), said, merged)
    highest = _places(told, places.numel()).amax(dim=0)
    unit = _powers(-2, 1).index_select(0, highest.int() - LEAST)  # of the lowest digit
    high, middle, low = digits.double()
    sums = ((high * 2**WIDTH + middle) * 2**WIDTH + low) * unit[of_column]
    if beside is None:
        return sums.view(n, k), None
    heard = told[:, : 2 * beside.numel()].flatten().view(torch.int64)  # of all ranks
    return sums.view(n, k), heard.view(len(told), -1).sum(dim=0)


def digit_sums(parts: Tensor, widths: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Places of the highest digits (n, g), int8, and the digits of all parts (3, n, k), int32."""
    c, n, k = parts.shape
    if parts.is_cpu and parts.dtype == torch.float64 and kernel.current().name == "native":
        parts, cut = parts.contiguous(), torch.tensor(widths)
        places = torch.empty(n, len(widths), dtype=torch.int8)
        digits = torch.empty(DIGITS, n, k, dtype=torch.int32)
        problem = DigitSums(
            c=c,
            rows=n,
            k=k,
            runs=len(widths),
            parts=parts.data_ptr(),
            widths=cut.data_ptr(),
            places=places.data_ptr(),
            digits=digits.data_ptr(),
            threads=torch.get_num_threads(),
        )
        kernel.call("hale_digit_sums", problem)
        return places, digits
    exact = parts.detach().double()
    places = _highest(exact, widths)
    over = _powers(0, -1)[(places - LEAST).flatten()][_runs(n, widths)].view(n, k)
    rest = torch.where(over.isnan(), 0.0, exact * over)
    found = []
    for _ in range(DIGITS):
        digit = rest.round()
        found.append(digit.sum(dim=0).int())
        rest = (rest - digit) * 2**WIDTH  # exact
    return places.to(torch.int8), torch.stack(found)


def _highest(parts: Tensor, widths: tuple[int, ...]) -> Tensor:
    """The least T with |x| < 2^(24 (T + 1) - 1) of each run: (c, n, k) -> (n, g), int32."""
    most = parts.new_zeros(parts.shape[1:]) if not len(parts) else parts.abs().amax(dim=0)
    runs = torch.split(most, list(widths), dim=1)
    most = torch.stack([run.amax(dim=1) for run in runs], dim=1)
    places = torch.frexp(most)[1].div(WIDTH, rounding_mode="floor").clamp(min=LEAST)
    places = torch.where(most == 0, LEAST, places)  # nothing says nothing of the others
    return torch.where(most.isfinite(), places, NOT_FINITE).int()


@lru_cache(maxsize=2)
def _powers(more: int, sign: int) -> Tensor:
    """2^(24 (T + more)) or one over it for places T from the least on; NaN where not finite."""
    found = torch.full((NOT_FINITE - LEAST + 1,), torch.nan, dtype=torch.float64)
    exponents = [sign * WIDTH * (place + more) for place in range(LEAST, MOST + 1)]
    found[: len(exponents)] = torch.tensor([2.0**x for x in exponents], dtype=torch.float64)
    return found


@lru_cache(maxsize=16)
def _runs(rows: int, widths: tuple[int, ...]) -> Tensor:
    """The run, of those of all rows, that each column is of: (n k,)."""
    of_row = torch.arange(len(widths)).repeat_interleave(torch.tensor(widths))
    return (len(widths) * torch.arange(rows)[:, None] + of_row).flatten()


def _packed(places: Tensor, beside: Tensor | None) -> Tensor:
    """Whole numbers, int64, and behind them places (n, g), int8, four by four: (b,), int32."""
    filled = torch.nn.functional.pad(places.flatten(), (0, -places.numel() % 4)).view(torch.int32)
    return filled if beside is None else torch.cat((beside.flatten().view(torch.int32), filled))


def _places(said: Tensor, count: int) -> Tensor:
    """The places in what ranks say (P, b): -> (P, count), int8."""
    return said[:, -((count + 3) // 4) :].contiguous().view(torch.int8)[:, :count]

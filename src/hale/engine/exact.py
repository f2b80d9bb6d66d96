"""Sums of numbers with a point, the same bits in whatever order they are added, and wherever.

Each part is rounded to a whole multiple of a power of two, the same for all parts of a row, and the
multiples are added as integers. The power is chosen by the largest part of the row, on all ranks,
which does not depend on an order either:

    u = 2^(e - ROOM),   |x| < 2^e,   sum = u * sum of round(x / u)

so a sum is as exact as its largest part to 54 bits, more than a float64 holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hale.engine import library as kernel
from hale.engine.group import Group
from hale.engine.shard_structures import WholeSums

PARTS = 8  # bits for how many parts a sum may have: 255
ROOM = 62 - PARTS
LEAST, NOT_FINITE = -900, 1000  # exponents: below the first all is zero


def exact_sum(
    group: Group,
    parts: Tensor,
    widths: Sequence[int] | None = None,
    beside: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The sum of all parts of all ranks: (c, n, k) -> (n, k), float64.

    A rank may have any number c of parts, also none, all ranks together at most 255. ``widths``
    cut the k columns into runs, each of which has a unit of its own in every row; otherwise a row
    has one. Where any part of a run is not finite, all of its sums are NaN. ``beside`` are whole
    numbers that travel in the same collective and are summed too.
    """
    widths = [parts.shape[2]] if widths is None else list(widths)
    sizes = _largest(parts, widths)  # (n, g)
    largest = group.all_reduce(exponents(sizes), "max")
    units = torch.ldexp(torch.ones_like(largest, dtype=torch.float64), largest - ROOM)
    spread = torch.tensor(widths, device=parts.device)
    unit = units.repeat_interleave(spread, dim=1, output_size=parts.shape[2]).contiguous()
    whole = _whole(parts, unit)
    told = None
    if beside is None:
        whole = group.all_reduce(whole)
    else:
        both = group.all_reduce(torch.cat((whole.flatten(), beside.flatten())))
        whole, told = both[: whole.numel()].view_as(whole), both[whole.numel() :].view_as(beside)
    lost = (largest == NOT_FINITE).repeat_interleave(spread, dim=1, output_size=parts.shape[2])
    return torch.where(lost, torch.nan, whole.double() * unit), told


def _largest(parts: Tensor, widths: Sequence[int]) -> Tensor:
    """The largest size in each run of columns, over all parts: (c, n, k) -> (n, g)."""
    if not len(parts):
        return parts.new_zeros(parts.shape[1], len(widths))
    if _native(parts):
        by_column = parts.new_empty(parts.shape[1:])
        kernel.call("hale_whole_sums", _problem(parts, largest=by_column))
    else:
        by_column = torch.maximum(parts.detach().amax(dim=0), -parts.detach().amin(dim=0))
    runs = torch.split(by_column, list(widths), dim=1)
    return torch.stack([run.amax(dim=1) for run in runs], dim=1)


def _whole(parts: Tensor, unit: Tensor) -> Tensor:
    """The sum of parts in whole units: (c, n, k), (n, k) -> (n, k), int64."""
    if _native(parts):
        sums = torch.empty_like(unit, dtype=torch.int64)
        kernel.call("hale_whole_sums", _problem(parts, units=unit, sums=sums))
        return sums
    return (parts.double() / unit).round_().nan_to_num_(0.0, 0.0, 0.0).long().sum(dim=0)


def _native(parts: Tensor) -> bool:
    fits = parts.is_cpu and parts.dtype == torch.float64 and parts.is_contiguous()
    return fits and kernel.current().name == "native"


def _problem(parts: Tensor, **others: Tensor) -> WholeSums:
    """What the kernel is asked; the caller has to hold the tensors."""
    c, rows, k = parts.shape
    found = {name: tensor.data_ptr() for name, tensor in others.items()}
    threads = torch.get_num_threads()
    return WholeSums(c=c, rows=rows, k=k, parts=parts.data_ptr(), threads=threads, **found)


def exponents(sizes: Tensor) -> Tensor:
    """The least e with x < 2^e of numbers from zero on: any shape, int32."""
    found = torch.frexp(sizes.double())[1].clamp(min=LEAST)
    found = torch.where(sizes == 0, LEAST, found)  # nothing says nothing of the others
    return torch.where(sizes.isfinite(), found, NOT_FINITE)

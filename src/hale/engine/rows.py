"""Rows of a table: looked up with the table in one step, and added to it in one pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hale.engine import library as kernel
from hale.engine.structures import Rows


def with_rows(table: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The table itself (N, d) and some of its rows (B, d), as one step for autograd.

    Its backward pass adds the rows' gradient to the table's in place, where two steps would
    fill a second table with zeros and add it. So the first result is for one use, by a
    function that hands over its gradient and keeps no hold of it, as those of the engine do.
    """
    whole, rows = _WithRows.apply(table, ids)  # type: ignore[no-untyped-call]
    return whole, rows


class _WithRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(ids)
        return table.view_as(table), table.index_select(0, ids)

    @staticmethod
    def backward(ctx: Any, by_table: Tensor, by_rows: Tensor) -> tuple[Tensor, None]:
        (ids,) = ctx.saved_tensors
        return add_rows(by_table, ids, by_rows), None


def add_rows(table: Tensor, ids: Tensor, rows: Tensor) -> Tensor:
    """Add rows (B, d) to those of a table (N, d) at ``ids`` (B,), in place; ids may repeat."""
    fits = table.dim() == 2 and ids.is_cpu and rows.shape == (len(ids), table.shape[1])
    if not (fits and table.is_contiguous() and kernel.takes(table, rows)):
        return table.index_add_(0, ids, rows)
    ids, rows = within(ids, len(table)), rows.contiguous()
    problem = Rows(
        b=len(ids),
        d=table.shape[1],
        table=table.data_ptr(),
        ids=ids.data_ptr(),
        rows=rows.data_ptr(),
        threads=torch.get_num_threads(),
    )
    kernel.call("hale_add_rows", problem)
    return table


def within(ids: Tensor, count: int) -> Tensor:
    """Ids as the kernel reads them, none outside 0..count - 1: it would not notice."""
    ids = ids.long().contiguous()
    if len(ids):
        least, most = torch.aminmax(ids)
        if int(least) < 0 or int(most) >= count:
            raise IndexError(f"rows {int(least)} to {int(most)} of a table of {count}")
    return ids

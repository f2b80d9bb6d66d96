"""Rows of a table: looked up, added to it, and the gradient of those that a step touches.

A table of entities is large and a step touches few of its rows. So the gradient of a look-up is a
sparse tensor of the rows touched, each once and in their order, which costs what they cost.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hale.engine import library as kernel
from hale.engine.structures import Rows, SumRows


def look_up(table: Tensor, *ids: Tensor) -> tuple[Tensor, ...]:
    """Rows of a table (N, d), for each of several ids (B,): (B, d) each.

    Its gradient is sparse, and all look-ups of one call share it.
    """
    rows: tuple[Tensor, ...] = _LookUp.apply(table, *ids)  # type: ignore[no-untyped-call]
    return rows


class _LookUp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, *ids: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*ids)
        ctx.count = len(table)
        return tuple(gathered(table, some) for some in ids)

    @staticmethod
    def backward(ctx: Any, *by_rows: Tensor) -> tuple[Tensor | None, ...]:
        by_table = sum_rows(ctx.saved_tensors, by_rows, ctx.count)
        return by_table, *(None for _ in by_rows)


def with_rows(table: Tensor, *ids: Tensor) -> tuple[Tensor, ...]:
    """The table itself (N, d), and rows of it (B, d) for each of several ids, as one step.

    Its backward pass adds the rows' gradients to the table's in place, where several steps would
    each fill a table with zeros and add it. So the first result is for one use, by a
    function that hands over its gradient and keeps no hold of it, as those of the engine do.
    """
    found: tuple[Tensor, ...] = _WithRows.apply(table, *ids)  # type: ignore[no-untyped-call]
    return found


class _WithRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, *ids: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*ids)
        return table.view_as(table), *(gathered(table, some) for some in ids)

    @staticmethod
    def backward(ctx: Any, by_table: Tensor, *by_rows: Tensor) -> tuple[Tensor | None, ...]:
        for ids, rows in zip(ctx.saved_tensors, by_rows, strict=True):
            by_table = add_rows(by_table, ids, rows)
        return by_table, *(None for _ in by_rows)


def gathered(table: Tensor, ids: Tensor) -> Tensor:
    """Rows of a table: (N, d), (B,) -> (B, d)."""
    if not (_fits(table, ids) and table.is_contiguous()):
        return table.index_select(0, ids)
    ids, rows = within(ids, len(table)), table.new_empty(len(ids), table.shape[1])
    kernel.call("hale_gather_rows", _problem(table, ids, rows))
    return rows


def add_rows(table: Tensor, ids: Tensor, rows: Tensor) -> Tensor:
    """Add rows (B, d) to those of a table (N, d) at ``ids`` (B,), in place; ids may repeat."""
    fits = _fits(table, ids) and rows.shape == (len(ids), table.shape[1])
    if not (fits and table.is_contiguous() and kernel.takes(rows)):
        return table.index_add_(0, ids, rows)
    ids, rows = within(ids, len(table)), rows.contiguous()
    kernel.call("hale_add_rows", _problem(table, ids, rows))
    return table


def sum_rows(ids: Sequence[Tensor], rows: Sequence[Tensor], count: int) -> Tensor:
    """Rows (B, d) summed up by their ids (B,), in several parts: a sparse (count, d).

    It is coalesced: its ids ascend, and each comes once. Rows of one id are added in their order,
    so the result does not depend on the number of threads.
    """
    dim = rows[0].shape[1]
    if not all(_fits(part, some) for part, some in zip(rows, ids, strict=True)):
        return torch.sparse_coo_tensor(
            torch.cat(list(ids))[None],
            torch.cat(list(rows)),
            (count, dim),
            check_invariants=False,
        ).coalesce()
    ids = [within(some, count) for some in ids]
    rows = [part.contiguous() for part in rows]
    counts = [len(some) for some in ids]
    touched = ids[0].new_empty(sum(counts))
    summed = rows[0].new_empty(sum(counts), dim)
    found = ctypes.c_int64()
    parts = len(counts)
    problem = SumRows(
        parts=parts,
        d=dim,
        counts=ctypes.addressof(lengths := (ctypes.c_int64 * parts)(*counts)),
        ids=ctypes.addressof(id_parts := _addresses(ids)),
        rows=ctypes.addressof(row_parts := _addresses(rows)),
        threads=torch.get_num_threads(),
        count=ctypes.addressof(found),
        touched=touched.data_ptr(),
        summed=summed.data_ptr(),
    )
    kernel.call("hale_sum_rows", problem)
    del lengths, id_parts, row_parts  # held until here
    return torch.sparse_coo_tensor(
        touched[: found.value][None],
        summed[: found.value],
        (count, dim),
        is_coalesced=True,
        check_invariants=False,
    )


def touched(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of a sparse gradient (N, d), each once: ids (U,), ascending, and rows (U, d).

    One look-up's gradient is so by itself; several add up to one in which ids may repeat.
    """
    ids, rows = gradient._indices()[0], gradient._values()
    if bool((ids[1:] > ids[:-1]).all()):
        return ids.contiguous(), rows.contiguous()
    found = sum_rows((ids,), (rows,), len(gradient))
    return found._indices()[0], found._values()


def _addresses(tensors: Sequence[Tensor]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))


def _fits(table: Tensor, ids: Tensor) -> bool:
    return table.dim() == 2 and ids.dim() == 1 and ids.is_cpu and kernel.takes(table)


def _problem(table: Tensor, ids: Tensor, rows: Tensor) -> Rows:
    """The addresses of all three, which the caller has to hold."""
    return Rows(
        b=len(ids),
        d=table.shape[1],
        table=table.data_ptr(),
        ids=ids.data_ptr(),
        rows=rows.data_ptr(),
        threads=torch.get_num_threads(),
    )


def within(ids: Tensor, count: int) -> Tensor:
    """Ids as the kernel reads them, none outside 0..count - 1: it would not notice."""
    ids = ids.long().contiguous()
    if len(ids):
        least, most = torch.aminmax(ids)
        if int(least) < 0 or int(most) >= count:
            raise IndexError(f"rows {int(least)} to {int(most)} of a table of {count}")
    return ids

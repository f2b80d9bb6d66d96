"""Query vectors of rotations: rows turned by relations, in one pass where the kernel runs.

As plain torch calls the query vectors of a batch take a dozen operations and their gradients two
dozen, each through memory: at 4096 positives and d = 32 they cost a step as much as its optimiser.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hale.engine import geometry
from hale.engine import library as kernel
from hale.engine.rows import within
from hale.engine.structures import Turn

ROWS_OF_THREAD = 256  # fewer are not worth another thread


class Rotation(NamedTuple):
    """The tables of relations that rotate: unit pairs (2R, d), shifts (2R, d), alphas (2R, 1)."""

    turns: Tensor
    shifts: Tensor | None = None
    alphas: Tensor | None = None


def turn(
    vectors: Tensor,
    relation: Tensor,
    turns: Tensor,
    shifts: Tensor | None = None,
    alphas: Tensor | None = None,
) -> Tensor:
    """Rotate vectors by their relations; shift them, or add by RotL's flexible addition.

        x = Rot(r) v,   x + s_r,   or   alpha_r (x + s_r) / max(1 + <x, s_r>, 0.1)

    ``vectors`` (B, d), ``relation`` (B,) rows of the tables, ``turns`` (2R, d) unit pairs,
    ``shifts`` (2R, d), ``alphas`` (2R, 1), which go with shifts -> (B, d); differentiable in all
    but the relations.
    """
    if _fits(vectors, relation, turns, shifts, alphas):
        turned: Tensor = _Turn.apply(vectors, relation, turns, shifts, alphas)  # type: ignore[no-untyped-call]
        return turned
    return plain_turn(vectors, relation, turns, shifts, alphas)


def plain_turn(
    vectors: Tensor,
    relation: Tensor,
    turns: Tensor,
    shifts: Tensor | None = None,
    alphas: Tensor | None = None,
) -> Tensor:
    """The same by torch calls: any device, any type, the reference."""
    turned = geometry.rotate(turns.index_select(0, relation), vectors)
    if shifts is None:
        return turned
    shift = shifts.index_select(0, relation)
    if alphas is None:
        return turned + shift
    return geometry.flexible_add(turned, shift, alphas.index_select(0, relation))


def _fits(
    vectors: Tensor,
    relation: Tensor,
    turns: Tensor,
    shifts: Tensor | None,
    alphas: Tensor | None,
) -> bool:
    """Whether the kernel takes it; what it does not is left to torch, which says what is wrong."""
    if vectors.dim() != 2 or relation.shape != vectors.shape[:1] or not relation.is_cpu:
        return False
    count, dim = len(turns), vectors.shape[1]
    wanted = ((turns, (count, dim)), (shifts, (count, dim)), (alphas, (count, 1)))
    tables = [(table, shape) for table, shape in wanted if table is not None]
    return (
        dim % 2 == 0
        and vectors.stride(1) == 1
        and (alphas is None or shifts is not None)
        and all(table.shape == shape for table, shape in tables)
        and kernel.takes(vectors, *(table for table, _ in tables))
    )


class _Turn(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        vectors: Tensor,
        relation: Tensor,
        turns: Tensor,
        shifts: Tensor | None,
        alphas: Tensor | None,
    ) -> Tensor:
        relation = within(relation, len(turns))
        turns = turns.contiguous()
        shifts, alphas = (x if x is None else x.contiguous() for x in (shifts, alphas))
        ctx.save_for_backward(vectors, relation, turns, shifts, alphas)
        queries = vectors.new_empty(vectors.shape)
        problem = _problem(vectors, relation, turns, shifts, alphas)
        problem.queries = queries.data_ptr()
        kernel.call("hale_turn", problem)
        return queries

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_queries: Tensor) -> tuple[Tensor | None, ...]:
        vectors, relation, *tables = ctx.saved_tensors
        by_queries = by_queries.contiguous()
        by_vectors = torch.empty_like(by_queries)
        by_tables = [None if table is None else torch.empty_like(table) for table in tables]
        problem = _problem(vectors, relation, *tables)
        problem.by_queries = by_queries.data_ptr()
        problem.by_vectors = by_vectors.data_ptr()
        problem.by_turns, problem.by_shifts, problem.by_alphas = map(_address, by_tables)
        kernel.call("hale_turn_back", problem)
        return by_vectors, None, *by_tables


def _problem(
    vectors: Tensor,
    relation: Tensor,
    turns: Tensor,
    shifts: Tensor | None,
    alphas: Tensor | None,
) -> Turn:
    return Turn(
        b=len(vectors),
        d=vectors.shape[1],
        stride=vectors.stride(0),
        width=vectors.shape[1],
        relations=len(turns),
        vectors=vectors.data_ptr(),
        which=relation.data_ptr(),
        turns=turns.data_ptr(),
        shifts=_address(shifts),
        alphas=_address(alphas),
        threads=min(torch.get_num_threads(), max(1, len(vectors) // ROWS_OF_THREAD)),
    )


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()

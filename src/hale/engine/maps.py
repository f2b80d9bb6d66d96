"""Query vectors of affine maps in blocks: rows mapped by relations, in one pass on the kernel."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hale.engine import library as kernel
from hale.engine.rows import within
from hale.engine.structures import Map
from hale.engine.turns import ROWS_OF_THREAD


def affine(vectors: Tensor, relation: Tensor, maps: Tensor, shifts: Tensor) -> Tensor:
    """Map vectors by the blocks of their relations, and shift them: B_r v + s_r.

    ``vectors`` (B, d), ``relation`` (B,) rows of the tables, ``maps`` (2R, d, k), of which rows
    gk to gk + k - 1 are the block that coordinates gk to gk + k - 1 are multiplied by, ``shifts``
    (2R, d) -> (B, d); differentiable in all but the relations.
    """
    if _fits(vectors, relation, maps, shifts):
        mapped: Tensor = _Affine.apply(vectors, relation, maps, shifts)  # type: ignore[no-untyped-call]
        return mapped
    return plain_affine(vectors, relation, maps, shifts)


def plain_affine(vectors: Tensor, relation: Tensor, maps: Tensor, shifts: Tensor) -> Tensor:
    """The same by torch calls: any device, any type, the reference."""
    count, dim, k = maps.shape
    blocks = maps.view(count, dim // k, k, k).index_select(0, relation)
    mapped = torch.einsum("bgij,bgj->bgi", blocks, vectors.reshape(len(vectors), dim // k, k))
    return mapped.flatten(1) + shifts.index_select(0, relation)


def _fits(vectors: Tensor, relation: Tensor, maps: Tensor, shifts: Tensor) -> bool:
    """Whether the kernel takes it; what it does not is left to torch, which says what is wrong."""
    if vectors.dim() != 2 or relation.shape != vectors.shape[:1] or not relation.is_cpu:
        return False
    dim = vectors.shape[1]
    return (
        maps.dim() == 3
        and maps.shape[1] == dim
        and dim % maps.shape[2] == 0
        and shifts.shape == maps.shape[:2]
        and vectors.stride(1) == 1
        and kernel.takes(vectors, maps, shifts)
    )


class _Affine(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, vectors: Tensor, relation: Tensor, maps: Tensor, shifts: Tensor
    ) -> Tensor:
        relation = within(relation, len(maps))
        maps, shifts = maps.contiguous(), shifts.contiguous()
        ctx.save_for_backward(vectors, relation, maps, shifts)
        queries = vectors.new_empty(vectors.shape)
        problem = _problem(vectors, relation, maps, shifts)
        problem.queries = queries.data_ptr()
        kernel.call("hale_map", problem)
        return queries

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_queries: Tensor) -> tuple[Tensor | None, ...]:
        vectors, relation, maps, shifts = ctx.saved_tensors
        by_queries = by_queries.contiguous()
        by_vectors = torch.empty_like(by_queries)
        by_maps, by_shifts = torch.empty_like(maps), torch.empty_like(shifts)
        problem = _problem(vectors, relation, maps, shifts)
        problem.by_queries = by_queries.data_ptr()
        problem.by_vectors = by_vectors.data_ptr()
        problem.by_maps, problem.by_shifts = by_maps.data_ptr(), by_shifts.data_ptr()
        kernel.call("hale_map_back", problem)
        return by_vectors, None, by_maps, by_shifts


def _problem(vectors: Tensor, relation: Tensor, maps: Tensor, shifts: Tensor) -> Map:
    return Map(
        b=len(vectors),
        d=vectors.shape[1],
        k=maps.shape[2],
        stride=vectors.stride(0),
        width=vectors.shape[1],
        relations=len(maps),
        vectors=vectors.data_ptr(),
        which=relation.data_ptr(),
        maps=maps.data_ptr(),
        shifts=shifts.data_ptr(),
        threads=min(torch.get_num_threads(), max(1, len(vectors) // ROWS_OF_THREAD)),
    )

"""Tables of vectors, and cheap ways to look up their rows."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from hale import geometry
from hale.graph import GraphSize
from hale.rows import add_rows


class Table(nn.Module):
    """Trainable rows (count, dim); ``table(ids)`` looks some of them up."""

    def __init__(self, count: int, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(count, dim))

    def forward(self, ids: Tensor) -> Tensor:
        """(B,) -> (B, d).

        By index_select: its backward pass took 0.06 ms where that of an embedding layer took
        0.5 ms (4096 ids into 22 rows, d = 32, two cores).
        """
        return self.weight.index_select(0, ids)


class RelationTable(Table):
    """A row per relation, then a row per reciprocal (2R, dim), not yet filled."""

    def __init__(self, size: GraphSize, dim: int) -> None:
        super().__init__(2 * size.num_relations, dim)


class Stretches(RelationTable):
    """A factor for each coordinate of a relation, around one in size, half of them negative.

    A relation that holds in both directions must turn an entity into another one: with positive
    factors alone the nearest answer is the entity itself, and a sign seldom changes in training. A
    relation and its reciprocal start with the same signs, since each undoes the other. Of the
    negative factors a share ``near`` is made positive, as it comes.
    """

    def __init__(self, size: GraphSize, dim: int, spread: float, near: float = 0.0) -> None:
        super().__init__(size, dim)
        nn.init.normal_(self.weight, mean=1.0, std=spread)
        signs = torch.randint(2, (size.num_relations, dim)).mul_(2).sub_(1)
        if near:
            signs[torch.rand(signs.shape) < near] = 1
        with torch.no_grad():
            self.weight.mul_(signs.repeat(2, 1))


class Turns(RelationTable):
    """A rotation for each relation: d/2 angles, kept as pairs of free length.

    They come from all of the circle. Of those beyond a quarter turn, whose cosine is negative, a
    share ``near`` has it made positive, as it comes. Not all of them should: what holds in both
    directions turns by nothing or by half, and where all start within a quarter it will be
    nothing, so that the nearest answer is the entity itself.
    """

    def __init__(self, size: GraphSize, dim: int, near: float = 0.0) -> None:
        super().__init__(size, dim)
        nn.init.normal_(self.weight)
        if near:
            with torch.no_grad():
                cosines = self.weight[:, 0::2]
                brought = torch.rand(cosines.shape) < near
                cosines.copy_(torch.where(brought, cosines.abs(), cosines))

    def unit(self) -> Tensor:
        """Unit pairs (2R, d)."""
        return geometry.unit_pairs(self.weight)

    def forward(self, ids: Tensor) -> Tensor:
        """Unit pairs: (B,) -> (B, d). Scaled in the table, 2R rows instead of B."""
        return self.unit().index_select(0, ids)


def relation_table(size: GraphSize, dim: int) -> RelationTable:
    """A table with a row per relation and per reciprocal (2R, dim), not yet filled."""
    return RelationTable(size, dim)


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

"""Tables of vectors, and cheap ways to look up their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Unpack
from weakref import WeakMethod

import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.engine import geometry
from hale.engine.device import on_large_pages
from hale.engine.group import ALONE, Group
from hale.engine.rows import gathered, look_up
from hale.engine.shards import Span
from hale.errors import SettingsError

Settle = Callable[[Unpack[tuple[Tensor, ...]]], None]  # brings rows of several ids up to date


def _nobody() -> None:
    """No rows are behind."""


class Table(nn.Module):
    """Trainable rows (count, dim); ``table(ids)`` looks some of them up.

    There may be millions, of which a step touches few: the gradient is sparse. Rows may be behind
    while they train (engine.lag); those that are looked up are brought up to date.
    All of them are held here; of a HeldTable a span is, and the others by other ranks of a group.
    """

    computed: ClassVar[bool] = False  # whether rows are made of others, not the weights themselves
    group: Group = ALONE

    def __init__(self, count: int, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(on_large_pages(torch.empty(count, dim)))
        self._settle: Callable[[], Settle | None] = _nobody

    def forward(self, ids: Tensor) -> Tensor:
        """(B,) -> (B, d)."""
        return self.look_up(ids)[0]

    def rows(self) -> Tensor:
        """All of them (count, dim)."""
        return self.weight

    def look_up(self, *ids: Tensor) -> tuple[Tensor, ...]:
        """Rows for each of several ids (B,): (B, d) each, with one gradient."""
        settle = self._settle()
        if settle is not None:
            with torch.no_grad():
                settle(*ids)
        if not torch.is_grad_enabled():
            return tuple(gathered(self.weight.detach(), some) for some in ids)
        return look_up(self.weight, *ids)

    @property
    def span(self) -> Span:
        """The rows that are held here."""
        return Span(0, len(self.weight))

    def held(self, rows: slice | Tensor) -> Tensor:
        """Some of the rows that are held here, by their ids: (K, d)."""
        return self.rows()[rows]

    def follow(self, settle: Settle) -> None:
        """Let a method bring rows up to date before they are looked up, while its object lives."""
        self._settle = WeakMethod(settle)

    def rest(self) -> None:
        """No row is behind any more, whatever follows."""
        self._settle = _nobody


class RelationTable(Table):
    """A row per relation, then a row per reciprocal (2R, dim), not yet filled.

    They are few, and a step touches most: the gradient is dense.
    """

    def __init__(self, size: GraphSize, dim: int) -> None:
        super().__init__(2 * size.num_relations, dim)

    def forward(self, ids: Tensor) -> Tensor:
        """(B,) -> (B, d).

        By index_select: its backward pass took 0.06 ms where that of an embedding layer took
        0.5 ms (4096 ids into 22 rows, d = 32, two cores).
        """
        return self.weight.index_select(0, ids)


class Stretches(RelationTable):
    """A factor for each coordinate of a relation, around one in size, half of them negative.

    A relation that holds in both directions must turn an entity into another one: with positive
    factors alone the nearest answer is the entity itself, and a sign seldom changes in training. A
    relation and its reciprocal start with the same signs, since each undoes the other. Of the
    negative factors a share ``near`` is made positive, as it comes.
    """

    def __init__(self, size: GraphSize, dim: int, spread: float, near: float = 0.0) -> None:
        super().__init__(size, dim)
        if self.weight.is_meta:  # a blank one (engine.blank)
            return
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
        if near and not self.weight.is_meta:
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


def even(dim: int, *, of: str) -> int:
    """``dim`` itself if it is even: rotations act on pairs of coordinates."""
    if dim % 2:
        near = " or ".join(str(size) for size in (dim - 1, dim + 1) if size)
        raise SettingsError([f"{of} needs an even dim, got {dim}; try {near}"])
    return dim

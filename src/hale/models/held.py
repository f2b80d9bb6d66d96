"""HeldTable: a table of which this process holds a span, and other ranks of a group the rest."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hale.engine.group import Group
from hale.engine.rows import gathered
from hale.engine.shards import Shards, Span
from hale.errors import InputError
from hale.models.base import Model
from hale.models.tables import Table


class HeldTable(Table):
    """The rows of one rank; whoever looks rows up, by any ids, gets them from those who hold them.

    All ranks look up the same ids at the same time. The last ones are kept: the queries of a chunk
    are asked for again for each span of the entities, of which ranks have more or fewer.
    """

    def __init__(self, rows: Tensor, group: Group, shards: Shards) -> None:
        torch.nn.Module.__init__(self)
        self.weight = torch.nn.Parameter(rows, requires_grad=False)
        self.group, self._shards = group, shards
        self._span = shards.span(group.rank)
        self._last: tuple[Tensor, Tensor] | None = None

    @property
    def span(self) -> Span:
        """The rows that are held here."""
        return self._span

    def held(self, rows: slice | Tensor) -> Tensor:
        """Some of the rows that are held here, by their ids: (K, d)."""
        first, last = self._span
        if isinstance(rows, Tensor):
            return self.weight[rows - first]
        start = first if rows.start is None else rows.start
        return self.weight[start - first : (last if rows.stop is None else rows.stop) - first]

    def look_up(self, *ids: Tensor) -> tuple[Tensor, ...]:
        """Rows for each of several ids (B,), the same on all ranks: (B, d) each."""
        return tuple(self._fetched(some) for some in ids)

    def _fetched(self, ids: Tensor) -> Tensor:
        if self._last is not None and torch.equal(self._last[0], ids):
            return self._last[1]
        owners = self._shards.owners(ids.cpu().numpy())
        mine = torch.from_numpy(np.flatnonzero(owners == self.group.rank)).to(ids.device)
        own = gathered(self.weight, ids[mine] - self._span.first)
        counts = np.bincount(owners, minlength=self.group.size).tolist()
        found = self.group.all_gather(own, counts).to(self.weight.device)
        order = torch.from_numpy(np.argsort(owners, kind="stable")).to(ids.device)
        rows = torch.empty_like(found).index_copy_(0, order, found)
        self._last = (ids, rows)
        return rows


# The tables of a model with a row for each entity.
ENTITY_TABLES = ("entity", "head_bias", "tail_bias")


def rows_held(model: Model, group: Group, span: Span) -> dict[str, slice] | None:
    """The rows of a model's tables that one of several ranks reads; None for all of them."""
    if group.size == 1:
        return None
    if model.entity.computed:
        raise InputError(
            f"The vectors of {model.name} are computed from those of their neighbours, so ranks "
            "cannot share them. Ask this run in one process, without --ranks or torchrun."
        )
    return {f"{name}.weight": slice(*span) for name in ENTITY_TABLES}


def share(model: Model, group: Group, num_entities: int) -> Model:
    """Let a model that has the entity rows of this rank's span answer for all entities.

    Its look-ups go by the ids of the graph from then on, on all ranks together.
    """
    if group.size == 1:
        return model
    shards = Shards(num_entities, group.size)
    for name in ENTITY_TABLES:
        table = getattr(model, name)
        if table is not None:
            setattr(model, name, HeldTable(table.weight.detach(), group, shards))
    model.size = model.size._replace(num_entities=num_entities)
    return model

"""Exchange: rows of a sharded table to those who ask for them, and their gradients home.

Every rank knows who asks for which row, so no ids travel. Places are those of one list of ids that
all ranks have, of which rank p asks for some and owns others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.engine.group import Group

Ids = NDArray[np.int64]


class Exchange:
    """Of places (n,), ``askers`` (n,) are the ranks that want the row, ``owners`` (n,) have it."""

    def __init__(self, group: Group, askers: Ids, owners: Ids) -> None:
        self.group = group
        self.askers = askers
        self.owners = owners

    @cached_property
    def owned(self) -> Ids:
        """The places whose rows this rank has, ascending."""
        return np.flatnonzero(self.owners == self.group.rank)

    @cached_property
    def asked(self) -> Ids:
        """The places whose rows it wants, ascending."""
        return np.flatnonzero(self.askers == self.group.rank)

    @cached_property
    def _outward(self) -> tuple[Tensor, list[int]]:
        """The order of the owned by who asks, and how many each asks for."""
        return self._order(self.askers[self.owned])

    @cached_property
    def _inward(self) -> tuple[Tensor, list[int]]:
        """The order of the asked by who has them, and how many each has."""
        return self._order(self.owners[self.asked])

    def _order(self, ranks: Ids) -> tuple[Tensor, list[int]]:
        order = torch.from_numpy(by_rank(ranks))
        return order, np.bincount(ranks, minlength=self.group.size).tolist()

    def fetch(self, rows: Tensor) -> Callable[[], Tensor]:
        """The rows of the owned places (o, d) -> those of the asked places (a, d).

        They travel until what is returned is called.
        """
        if self.group.size == 1:  # who asks is who owns
            return lambda: rows
        return self._send(rows, self._outward, self._inward)

    def home(self, rows: Tensor) -> Callable[[], Tensor]:
        """Rows of the asked places (a, d) -> those of the owned places (o, d), in their order."""
        if self.group.size == 1:
            return lambda: rows
        return self._send(rows, self._inward, self._outward)

    def _send(
        self, rows: Tensor, here: tuple[Tensor, list[int]], there: tuple[Tensor, list[int]]
    ) -> Callable[[], Tensor]:
        (out, sent), (into, wanted) = here, there
        arrived = self.group.all_to_all(rows.index_select(0, out), sent, wanted)

        def placed() -> Tensor:
            found = arrived().to(rows.device)
            return torch.empty_like(found).index_copy_(0, into, found)

        return placed


def by_rank(ranks: Ids) -> Ids:
    """The order of places by rank, those of one in their order; ranks fit into a byte: (n,)."""
    return np.argsort(ranks.astype(np.uint8), kind="stable")


def rows_for_all(group: Group, owners: Ids, rows: Tensor) -> Tensor:
    """The rows of n places to all ranks, from those of this one (o, w), in their order: -> (n, w).

    ``owners`` (n,) tells whose each is.
    """
    order = torch.from_numpy(by_rank(owners))
    found = group.all_gather(rows, np.bincount(owners, minlength=group.size).tolist())
    found = found.to(rows.device)
    return torch.empty_like(found).index_copy_(0, order, found)

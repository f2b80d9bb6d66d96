"""Shards: the rows of a table cut into spans that processes own, and sums are made over.

The cut into SHARDS contiguous spans depends on the number of rows alone. A rank of a process group
owns some of them, side by side. What is summed over rows is summed within a shard first, so that no
such sum depends on how many ranks there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hale.errors import InputError

Ids = NDArray[np.int64]

SHARDS = 64


class Span(NamedTuple):
    """Rows from ``first`` to before ``last``."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first

    def within(self, first: int, last: int) -> Span:
        """The rows of it that lie between two others; none of them has a place too."""
        start = min(max(first, self.first), self.last)
        return Span(start, max(start, min(last, self.last)))

    def holds(self, ids: Ids) -> NDArray[np.bool_]:
        """Which rows lie in it: (n,) -> (n,)."""
        return (ids >= self.first) & (ids < self.last)


class Shards:
    """Of ``num_rows`` rows, which belong to which of ``size`` ranks."""

    def __init__(self, num_rows: int, size: int) -> None:
        if not 1 <= size <= SHARDS:
            raise InputError(f"A group has 1 to {SHARDS} ranks, got {size}.")
        self.num_rows = num_rows
        self.size = size
        self.begins: Ids = num_rows * np.arange(SHARDS + 1, dtype=np.int64) // SHARDS
        self._owned: Ids = SHARDS * np.arange(size + 1, dtype=np.int64) // size  # first shard
        self._firsts = self.begins[self._owned]

    def span(self, rank: int) -> Span:
        """The rows of a rank."""
        return Span(int(self._firsts[rank]), int(self._firsts[rank + 1]))

    def numbers_of(self, rank: int) -> range:
        """The numbers of the shards of a rank."""
        return range(int(self._owned[rank]), int(self._owned[rank + 1]))

    def begins_of(self, rank: int) -> Ids:
        """Where the shards of a rank begin, and its last one ends: (k + 1,)."""
        return self.begins[self._owned[rank] : self._owned[rank + 1] + 1]

    def owners(self, ids: Ids) -> Ids:
        """The ranks that own rows: (n,) -> (n,)."""
        found: Ids = np.searchsorted(self._firsts, ids, side="right") - 1
        return found

"""A sweep over the shards of a rank for any score, by autograd: the reference, and the general way.

One thread does it: how torch cuts its work into threads may change the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.engine.tiles import Pairs

Ids = NDArray[np.int64]

# Scores held at once: 16 MB in float32, a few times over.
CHUNK_ELEMENTS = 1 << 22


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch work on one thread, so that its results do not depend on how many there are."""
    before = torch.get_num_threads()
    if before > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if before > 1:
            torch.set_num_threads(before)


class PlainSweep:
    """Scores ``score(*rows, *tables)`` of m rows with the n entities of this rank: (m, n).

    ``rows`` are (m, ...), ``tables`` (n, ...), None where the score does without. ``begins`` are
    where shards begin among the n, and the last one ends. ``without`` are pairs (row, entity) to
    leave out.
    """

    def __init__(
        self,
        score: Callable[..., Tensor],
        rows: Sequence[Tensor | None],
        tables: Sequence[Tensor | None],
        begins: Ids,
        without: Pairs | None = None,
    ) -> None:
        self.score = score
        self.rows = [None if row is None else row.detach() for row in rows]
        self.tables = [None if table is None else table.detach() for table in tables]
        self.begins = begins.tolist()
        self.without = without
        self.count = len(next(row for row in self.rows if row is not None))

    @property
    def widths(self) -> list[int]:
        """One for the weights, then the sizes of the rows."""
        return [1, *(row[0].numel() for row in self.rows if row is not None)]

    def peaks(self) -> Tensor:
        """The largest score of each query (m,)."""
        with one_thread():
            found = torch.full((self.count,), -torch.inf, dtype=torch.float64)
            for _, parts in self._shards():
                for part in parts:
                    found = torch.maximum(found, self._scores(part)[0].amax(dim=1).double())
            return found

    def sums(self, peaks: Tensor) -> Tensor:
        """(c, m, k), in float64."""
        asked = [row for row in self.rows if row is not None]
        total = torch.zeros(len(self.begins) - 1, self.count, sum(self.widths), dtype=torch.float64)
        with one_thread():
            for number, parts in self._shards():
                for part in parts:
                    scores, leaves, _ = self._scores(part, learn=True)
                    weights = (scores.detach() - peaks[:, None].to(scores.dtype)).exp()
                    found = torch.autograd.grad(scores, leaves, weights, allow_unused=True)
                    columns = [weights.sum(dim=1, keepdim=True)]
                    for row, gradient in zip(asked, found, strict=True):
                        gradient = torch.zeros_like(row) if gradient is None else gradient
                        columns.append(gradient.view(self.count, -1))
                    total[number] += torch.cat(columns, dim=1)
        self._peaks = peaks
        return total

    def by_rows(self, sums: Tensor, shares: Tensor) -> tuple[Tensor | None, ...]:
        """As the rows are."""
        found = iter(torch.split(shares[:, None] * sums, self.widths, dim=1)[1:])
        return tuple(
            None if row is None else next(found).view_as(row).to(row.dtype) for row in self.rows
        )

    def by_tables(self, shares: Tensor) -> tuple[Tensor | None, ...]:
        """As the tables are."""
        found = [None if table is None else torch.zeros_like(table) for table in self.tables]
        with one_thread():
            for _, parts in self._shards():
                for part in parts:
                    scores, _, leaves = self._scores(part, learn=True)
                    weights = (scores.detach() - self._peaks[:, None].to(scores.dtype)).exp()
                    weights *= shares[:, None].to(scores.dtype)
                    gradients = iter(
                        torch.autograd.grad(scores, leaves, weights, allow_unused=True)
                    )
                    for table in found:
                        gradient = None if table is None else next(gradients)
                        if table is not None and gradient is not None:
                            table[part] = gradient
        return tuple(found)

    def _shards(self) -> Iterator[tuple[int, list[slice]]]:
        """The shards that have entities here, each in parts whose scores are held at once."""
        size = max(1, CHUNK_ELEMENTS // self.count)
        for number, (first, last) in enumerate(pairwise(self.begins)):
            if first < last:
                starts = range(first, last, size)
                yield number, [slice(start, min(start + size, last)) for start in starts]

    @torch.enable_grad()
    def _scores(
        self, part: slice, *, learn: bool = False
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """The scores of some entities (m, b), and the rows and tables that they are made of."""
        rows = [None if row is None else row.detach() for row in self.rows]
        tables = [None if table is None else table[part].detach() for table in self.tables]
        leaves = [
            [x.requires_grad_(learn) for x in some if x is not None] for some in (rows, tables)
        ]
        scores = self.score(*rows, *tables)
        if self.without is not None:
            at, columns = self.without
            here = (columns >= part.start) & (columns < part.stop)
            low = torch.full_like(at[here], -torch.inf, dtype=scores.dtype)
            scores = scores.index_put((at[here], columns[here] - part.start), low)
        return scores, leaves[0], leaves[1]

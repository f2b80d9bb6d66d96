"""Lag: how far the rows of a table are behind an Adam that moves them only when they are read.

After its last gradient Adam moves a row on by its momentum. Where the gradient is zero,

    m <- beta1 m,   v <- beta2 v,   p <- p - R m / (sqrt(v) + eps)

with R the rate of the step and both corrections of the bias. After k such steps

    p <- p - D m / (sqrt(v) + eps),   D = sum over j = 1..k of R_j (beta1 / sqrt(beta2))^j
    m <- beta1^k m,   v <- beta2^k v

but for eps, which v would have to be tiny to meet. D depends on the step that touched the row last
and on nothing else of it. So rows stay behind until they are read, and are then where
torch.optim.Adam would have taken them, at the cost of those that are read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.engine import library as kernel
from hale.engine.rows import within
from hale.engine.structures import AdamRows

# Of Adam: how much of the means is kept, and what keeps a step from dividing by zero.
BETAS, EPS = (0.9, 0.999), 1e-8

FADING = BETAS[0] / math.sqrt(BETAS[1])  # of a row's movement, from step to step
CHUNK = 1 << 16  # rows that catch up at once by torch calls
REACH = 160  # steps after which less than 1e-7 of it is left
_FADED = FADING ** np.arange(1, REACH + 1)


class Lag:
    """The rows of a table (n, d) with their means and squares, some of them behind.

    Steps are counted from the moment at which all rows were last up to date. ``last`` (n,) is the
    step that touched a row last, ``due`` (step + 1,) how far the rows last touched at a step have
    to go, in units of m / (sqrt(v) + eps).
    """

    def __init__(self, table: Tensor, means: Tensor, squares: Tensor) -> None:
        self.table, self.means, self.squares = table, means, squares
        self.last = torch.zeros(len(table), dtype=torch.int32, device=table.device)
        self.step = 0
        kind = np.float64 if table.dtype == torch.float64 else np.float32
        self._due: NDArray[Any] = np.zeros(1024, dtype=kind)

    @property
    def due(self) -> Tensor:
        """(step + 1,); the last is zero: those rows are up to date."""
        return torch.from_numpy(self._due[: self.step + 1])

    def put(self, last: Tensor, due: Tensor) -> None:
        """Be where another lag was."""
        self.last.copy_(last)
        self.step = len(due) - 1
        self._due = np.zeros(2 * len(due) + 1024, dtype=self._due.dtype)
        self._due[: len(due)] = due.cpu().numpy()

    def stepped(self, rate: float) -> None:
        """Count a step at a rate: all rows but those that it touched are due to move by it."""
        first = max(0, self.step + 1 - REACH)
        self._due[first : self.step + 1] += rate * _FADED[: self.step + 1 - first][::-1]
        self.step += 1
        if self.step == len(self._due):
            self._due = np.concatenate([self._due, np.zeros_like(self._due)])

    def settle(self, *ids: Tensor) -> None:
        """Bring rows up to date, for each of several ids (B,), which may repeat."""
        if not self.step:
            return
        for some in ids:
            if self.native and some.is_cpu:
                some = within(some, len(self.table))
                kernel.call("hale_adam_rows", self.problem(some, len(some)))
            else:
                behind = torch.unique(some)
                self._catch_up(behind[self.last[behind] < self.step])

    def settle_all(self) -> None:
        """Bring all rows up to date, and count anew."""
        if not self.step:
            return
        if self.native:
            kernel.call("hale_adam_rows", self.problem(None, len(self.table)))
        else:
            for first in range(0, len(self.table), CHUNK):
                last = min(first + CHUNK, len(self.table))
                self._catch_up(torch.arange(first, last, device=self.table.device))
        self.last.zero_()
        self._due[: self.step + 1] = 0
        self.step = 0

    def settled(self) -> Tensor:
        """The table (n, d) with all rows up to date, beside the one that is behind."""
        table = self.table.clone()
        due = self.due.to(table.device)
        for first in range(0, len(table), CHUNK):
            rows = slice(first, first + CHUNK)
            way = due[self.last[rows].long()][:, None].to(table)
            table[rows] -= way * self.means[rows] / (self.squares[rows].sqrt() + EPS)
        return table

    @property
    def native(self) -> bool:
        """Whether the kernel takes these tables."""
        tables = (self.table, self.means, self.squares)
        return kernel.takes(*tables) and all(x.is_contiguous() for x in tables)

    def problem(self, ids: Tensor | None, count: int) -> AdamRows:
        """What the kernel is asked: some rows (count,), or the first; they catch up, no more."""
        return AdamRows(
            b=count,
            d=self.table.shape[1],
            ids=None if ids is None else ids.data_ptr(),
            table=self.table.data_ptr(),
            means=self.means.data_ptr(),
            squares=self.squares.data_ptr(),
            last=self.last.data_ptr(),
            due=self._due.ctypes.data,
            step=self.step,
            first=1 - BETAS[0],
            second=1 - BETAS[1],
            eps=EPS,
            threads=torch.get_num_threads(),
        )

    def _catch_up(self, ids: Tensor) -> None:
        """Rows (U,), none twice, by torch calls: the reference."""
        last = self.last[ids].long()
        way = self.due.to(self.table.device)[last][:, None]
        missed = (self.step - last)[:, None].to(self.table.dtype)
        means, squares = self.means[ids], self.squares[ids]
        self.table.index_add_(0, ids, way.to(means) * means / (squares.sqrt() + EPS), alpha=-1)
        self.means.index_copy_(0, ids, means * BETAS[0] ** missed)
        self.squares.index_copy_(0, ids, squares * BETAS[1] ** missed)
        self.last.index_fill_(0, ids, self.step)

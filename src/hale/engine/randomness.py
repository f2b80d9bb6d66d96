"""What is drawn at random is a function of (seed, stream, counter) and nothing else.

So a resumed run draws what an unbroken one would have drawn, and no generator
has to be saved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import numpy as np
import torch
from torch import Tensor

ROWS_AT_ONCE = 1 << 12  # rows of a table that one sequence fills


class Stream(IntEnum):
    """Independent sequences of one seed."""

    INIT = 0
    SHUFFLE = 1  # counted by epoch
    SAMPLE = 2  # counted by step
    VALIDATION = 3
    DROPOUT = 4  # counted by step
    ADDED = 5  # the new facts of an update, counted by epoch
    AROUND = 6  # those around the facts that it removes
    PLACE = 7
    BLOCK = 8  # counted by pass over all entities
    ROWS = 9  # of a table at its start, counted by ROWS_AT_ONCE


def draw_seed(seed: int, stream: Stream, counter: int = 0) -> int:
    """A 32-bit seed of its own for each (seed, stream, counter)."""
    return int(np.random.SeedSequence((seed, int(stream), counter)).generate_state(1)[0])


@contextmanager
def seeded(seed: int, stream: Stream, counter: int = 0, *, only: bool = True) -> Iterator[None]:
    """Let PyTorch's own generator begin a sequence; afterwards it goes on as if nothing were.

    With ``only`` false, where nothing will be drawn, nothing is done.
    """
    if not only:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(draw_seed(seed, stream, counter))
        yield


def generator(seed: int, stream: Stream, counter: int = 0) -> torch.Generator:
    """A CPU generator at the start of its sequence."""
    return torch.Generator().manual_seed(draw_seed(seed, stream, counter))


def drawn_key(generator: torch.Generator | None = None) -> int:
    """32 bits of a generator, PyTorch's own unless one is given."""
    return int(torch.randint(1 << 32, (), generator=generator, device="cpu"))


@torch.no_grad()
def draw_rows(table: Tensor, spread: float, first: int = 0) -> None:
    """Fill rows (n, d) of a table, those from ``first`` on, from a normal distribution.

    A row is a function of its number and of a key that PyTorch's generator draws, however many are
    filled here. A table without memory is left alone, and nothing is drawn.
    """
    if table.is_meta:
        return
    key = drawn_key()
    start, last = first - first % ROWS_AT_ONCE, first + len(table)
    for begin in range(start, last, ROWS_AT_ONCE):
        draws = generator(key, Stream.ROWS, begin // ROWS_AT_ONCE)
        rows = table.new_empty(ROWS_AT_ONCE, *table.shape[1:], device="cpu")
        rows.normal_(std=spread, generator=draws)
        low, high = max(begin, first), min(begin + ROWS_AT_ONCE, last)
        table[low - first : high - first] = rows[low - begin : high - begin]

"""A permutation of 0 .. n - 1 that is computed number by number, and costs what is used of it.

So what is drawn in turns, batches of triples and blocks of entities, is a function of seed and
step, however many there are. It is a Feistel network over the bits of n - 1, walked until it is
below n.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hale.engine import library as kernel
from hale.engine.randomness import Stream, draw_seed
from hale.engine.structures import Draw

Ids = NDArray[np.int64]

ROUNDS = 6
MOST = 1 << 32  # numbers are kept in 32 bits where they are sorted


@lru_cache(maxsize=64)  # a pass has one for all its steps
def round_keys(seed: int, stream: Stream, turn: int) -> NDArray[np.uint32]:
    """What makes the permutation of one pass: (6,)."""
    drawn = np.random.SeedSequence(draw_seed(seed, stream, turn)).generate_state(ROUNDS)
    return drawn.astype(np.uint32)


def part_of(count: int, start: int, size: int, keys: NDArray[np.uint32]) -> Ids:
    """The numbers at ``size`` places from ``start`` of a permutation, ascending: (size,)."""
    if kernel.current().name != "native":
        return np.sort(permuted(np.arange(start, start + size), count, keys))
    ids = np.empty(size, dtype=np.int64)
    problem = Draw(n=count, s=size, start=start, keys=keys.ctypes.data, ids=ids.ctypes.data)
    kernel.call("hale_draw_block", problem)
    return ids


def permuted(places: Ids, count: int, keys: NDArray[np.uint32]) -> Ids:
    """The numbers at places of a permutation of 0 .. count - 1: (n,) -> (n,).

    Half the bits of a place are changed by a mixture of the other half, in turns: each such round
    can be undone, so no two places meet. A result that is not below ``count`` goes on through the
    network, and comes below it before it could come back to where it was. The native twin is
    native/blocks.cpp.
    """
    bits = (count - 1).bit_length()
    low = bits // 2
    low_mask, high_mask = np.uint32((1 << low) - 1), np.uint32((1 << (bits - low)) - 1)
    found = places.astype(np.int64)
    left_over = np.arange(len(found))
    while len(left_over):
        place = found[left_over]
        right, left = place.astype(np.uint32) & low_mask, (place >> low).astype(np.uint32)
        for first, second in keys.reshape(-1, 2):
            left = left ^ (mixed(right ^ first) & high_mask)
            right = right ^ (mixed(left ^ second) & low_mask)
        found[left_over] = (left.astype(np.int64) << low) | right
        left_over = left_over[found[left_over] >= count]
    return found


def mixed(numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """32 bits mixed (Murmur3's finaliser), so that close numbers come out far apart."""
    numbers = (numbers ^ (numbers >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    numbers = (numbers ^ (numbers >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return numbers ^ (numbers >> np.uint32(16))

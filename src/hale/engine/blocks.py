"""Blocks: the entities that the sums of a step run over, a part of all that stands for them.

A pass walks through a permutation of all entities, block by block, so that an entity comes at most
once in N/s steps; what is left over at its end sits the pass out. Which entities a block has is a
function of seed and step, and costs what the block has, not N: the permutation is computed entity
by entity, by a Feistel network over the bits of N - 1, walked until it is below N.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.engine import library as kernel
from hale.engine.randomness import Stream, draw_seed
from hale.engine.structures import Draw, Find
from hale.errors import InputError

Ids = NDArray[np.int64]

ROUNDS = 6
MOST_ENTITIES = 1 << 32  # ids are kept in 32 bits where they are sorted


class Block:
    """Some of N entities: their ids (s,), ascending, none twice."""

    def __init__(self, ids: Tensor, num_entities: int) -> None:
        self.ids = ids
        self.num_entities = num_entities

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def ratio(self) -> float:
        """N / s: for how many entities each of the block stands."""
        return self.num_entities / len(self.ids)

    @cached_property
    def _sorted(self) -> Ids:
        return np.ascontiguousarray(self.ids.cpu().numpy())

    def places(self, entities: Ids) -> Ids:
        """Where entities stand in the block, -1 for those that do not: (n,) -> (n,)."""
        if kernel.current().name != "native":
            return plain_places(self._sorted, entities)
        wanted = np.ascontiguousarray(entities, dtype=np.int64)
        found = np.empty(len(wanted), dtype=np.int64)
        problem = Find(
            s=len(self._sorted),
            block=self._sorted.ctypes.data,
            count=len(wanted),
            wanted=wanted.ctypes.data,
            places=found.ctypes.data,
        )
        kernel.call("hale_places", problem)
        return found


class Blocks:
    """The block of every step: ``size`` of ``num_entities``, as a function of seed and step."""

    def __init__(self, num_entities: int, size: int, seed: int) -> None:
        if not 1 <= size <= num_entities < MOST_ENTITIES:
            raise InputError(
                f"A block holds 1 to N entities, N below 2^32; got {size:,} of {num_entities:,}."
            )
        self.num_entities = num_entities
        self.size = size
        self.seed = seed

    def at(self, step: int) -> Block:
        """The block of a step."""
        turn, place = divmod(step, self.num_entities // self.size)
        keys = round_keys(self.seed, turn)
        start = place * self.size
        if kernel.current().name != "native":
            places = np.arange(start, start + self.size)
            ids = np.sort(permuted(places, self.num_entities, keys))
        else:
            ids = np.empty(self.size, dtype=np.int64)
            problem = Draw(
                n=self.num_entities,
                s=self.size,
                start=start,
                keys=keys.ctypes.data,
                ids=ids.ctypes.data,
            )
            kernel.call("hale_draw_block", problem)
        return Block(torch.from_numpy(ids), self.num_entities)


def round_keys(seed: int, turn: int) -> NDArray[np.uint32]:
    """What makes the permutation of one pass: (6,)."""
    drawn = np.random.SeedSequence(draw_seed(seed, Stream.BLOCK, turn)).generate_state(ROUNDS)
    return drawn.astype(np.uint32)


def permuted(places: Ids, count: int, keys: NDArray[np.uint32]) -> Ids:
    """The entities at places of a permutation of 0 .. count - 1: (n,) -> (n,).

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
            left = left ^ (_mixed(right ^ first) & high_mask)
            right = right ^ (_mixed(left ^ second) & low_mask)
        found[left_over] = (left.astype(np.int64) << low) | right
        left_over = left_over[found[left_over] >= count]
    return found


def _mixed(numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """32 bits mixed (Murmur3's finaliser), so that close numbers come out far apart."""
    numbers = (numbers ^ (numbers >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    numbers = (numbers ^ (numbers >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return numbers ^ (numbers >> np.uint32(16))


def plain_places(block: Ids, entities: Ids) -> Ids:
    """Where entities stand in an ascending block, -1 for none, by numpy: the reference."""
    place = np.minimum(np.searchsorted(block, entities), len(block) - 1)
    found: Ids = np.where(block[place] == entities, place, -1)
    return found

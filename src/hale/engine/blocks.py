"""Blocks: the entities that the sums of a step run over, a part of all that stands for them.

A pass walks through a permutation of all entities, block by block, so that an entity comes at most
once in N/s steps; what is left over at its end sits the pass out. Which entities a block has is a
function of seed and step, and costs what the block has, not N (see engine.permutation).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.engine import library as kernel
from hale.engine.permutation import MOST, part_of, round_keys
from hale.engine.randomness import Stream
from hale.engine.structures import Find
from hale.errors import InputError

Ids = NDArray[np.int64]


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
        if not 1 <= size <= num_entities < MOST:
            raise InputError(
                f"A block holds 1 to N entities, N below 2^32; got {size:,} of {num_entities:,}."
            )
        self.num_entities = num_entities
        self.size = size
        self.seed = seed

    def at(self, step: int) -> Block:
        """The block of a step."""
        turn, place = divmod(step, self.num_entities // self.size)
        keys = round_keys(self.seed, Stream.BLOCK, turn)
        ids = part_of(self.num_entities, place * self.size, self.size, keys)
        return Block(torch.from_numpy(ids), self.num_entities)


def plain_places(block: Ids, entities: Ids) -> Ids:
    """Where entities stand in an ascending block, -1 for none, by numpy: the reference."""
    place = np.minimum(np.searchsorted(block, entities), len(block) - 1)
    found: Ids = np.where(block[place] == entities, place, -1)
    return found

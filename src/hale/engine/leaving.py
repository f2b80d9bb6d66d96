"""What the sums of queries leave out of a block, found natively from an index of known answers.

The plain version is hale.objectives.left_out, which takes any number of entities and indexes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hale.engine import library as kernel
from hale.engine.blocks import Block
from hale.engine.structures import Leave

Ids = NDArray[np.int64]


class Left(NamedTuple):
    """Places in the block that are left out, query by query, and how many entities are in all."""

    places: Ids  # (p,), ascending for each query
    begins: Ids  # (m + 1,) where those of a query begin
    counts: Ids  # (m,)

    @property
    def counts_here(self) -> Ids:
        """How many of the block each query leaves out: (m,)."""
        return np.diff(self.begins)


class Answers(Protocol):
    """Answers by query (CSR): those of ``keys[i]`` are ``answers[offsets[i] : offsets[i + 1]]``."""

    @property
    def keys(self) -> Ids:
        """(Q,), ascending: head * width + relation."""

    @property
    def offsets(self) -> NDArray[Any]:
        """(Q + 1,)."""

    @property
    def answers(self) -> NDArray[Any]:
        """(n,), ascending for each query."""


NOTHING = np.empty(0, dtype=np.int64)


class Leaver:
    """Finds what queries leave out, with memory that is kept from step to step.

    ``known`` are the answers to leave out, if any, ``width`` what makes the keys of queries.
    """

    def __init__(self, known: Answers | None, width: int) -> None:
        self.known = known
        self.width = width
        self._room = NOTHING

    @staticmethod
    def takes(known: Answers | None) -> bool:
        """Whether the kernel reads such an index: of 32-bit numbers."""
        narrow = known is None or known.offsets.dtype == known.answers.dtype == np.int32
        return narrow and kernel.current().name == "native"

    def of(
        self, heads: Ids, relations: Ids, ruled_out: NDArray[np.bool_] | None, block: Block
    ) -> Left:
        """Of queries (m,), (m,), whose heads are left out too where they are ``ruled_out`` (m,)."""
        m, known = len(heads), self.known
        begins, counts = np.empty(m + 1, dtype=np.int64), np.empty(m, dtype=np.int64)
        heads, relations = (np.ascontiguousarray(ids, dtype=np.int64) for ids in (heads, relations))
        ids = block.ids.numpy()
        problem = Leave(
            m=m,
            s=len(ids),
            known=0 if known is None else len(known.keys),
            width=self.width,
            heads=heads.ctypes.data,
            relations=relations.ctypes.data,
            ruled_out=None if ruled_out is None else ruled_out.ctypes.data,
            block=ids.ctypes.data,
            keys=None if known is None else known.keys.ctypes.data,
            offsets=None if known is None else known.offsets.ctypes.data,
            answers=None if known is None else known.answers.ctypes.data,
            room=len(self._room),
            places=self._room.ctypes.data,
            begins=begins.ctypes.data,
            counts=counts.ctypes.data,
        )
        kernel.call("hale_leave", problem)
        if begins[-1] > len(self._room):  # then only counted: once more, with room for all
            self._room = np.empty(2 * int(begins[-1]), dtype=np.int64)
            problem.room, problem.places = len(self._room), self._room.ctypes.data
            kernel.call("hale_leave", problem)
        return Left(self._room[: begins[-1]], begins, counts)

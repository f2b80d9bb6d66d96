"""A sweep over the shards of a rank by the kernel: squared L2 distances, float32 on the CPU."""

from __future__ import annotations

import ctypes

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.engine import library as kernel
from hale.engine import native
from hale.engine.activations import Activation
from hale.engine.shard_structures import ShardSweep
from hale.engine.structures import Uniformity
from hale.engine.tiles import Pairs

Ids = NDArray[np.int64]


class NativeSweep:
    """Scores -h(c ||q - e||^2) of queries (m, d), scales (m,) and entities (n, d).

    With w = exp(peak - h) and g = w h', the sums of a shard are of w, g, g x and g e, from which
    come the gradients by query and by scale (see engine.tiles). g of all pairs is kept until the
    entities are pushed, where there is room. Elsewhere sums are made of some queries at a time, and
    entities pushed by all queries, some entities at a time, of which g is then made again: what
    room there is changes no bit.
    """

    def __init__(
        self,
        activation: Activation,
        queries: Tensor,
        scale: Tensor | None,
        gammas: Tensor | None,
        entities: Tensor,
        begins: Ids,
        without: Pairs,
    ) -> None:
        self.activation = activation
        self.queries = queries.detach().contiguous()
        self.scaled = scale is not None
        self.scale = (
            self.queries.new_ones(len(queries)) if scale is None else scale.detach().flatten()
        ).contiguous()
        self.entities = entities.detach().contiguous()
        self.begins = np.ascontiguousarray(begins, dtype=np.int64)
        self.shape = native.shape_of(activation)
        self.gammas = native.bounds_of(activation, gammas, self.queries)
        self.left_out, self.left_from = native.by_query(without, self.queries, len(entities))
        self.floors = torch.zeros(len(queries))
        self.kept = len(queries) * len(entities) <= native.BLOCK_ELEMENTS  # g of all pairs

    @property
    def widths(self) -> list[int]:
        """w, g, g x, g e."""
        return [1, 1, 1, self.queries.shape[1]]

    def peaks(self) -> Tensor | None:
        """Minus h at the nearest entity of each query; zero of queries whose bounds need none."""
        bounded, free = ctypes.c_int32(), False
        for some in self._queries():
            self._call("hale_shard_floors", some, bounded=ctypes.addressof(bounded))
            free |= not bounded.value
        return -self.floors.double() if free else None

    def sums(self, peaks: Tensor) -> Tensor:
        """(c, m, 3 + d), in float64."""
        self.floors = (-peaks).float()
        found = []
        for some in self._queries():
            found.append(self._room(some))
            self._call("hale_shard_sums", some, parts=found[-1].data_ptr())
        return torch.cat(found, dim=1) if len(found) > 1 else found[0]

    def _queries(self) -> list[slice]:
        """The queries in blocks of which g has room."""
        m, n = len(self.queries), max(1, len(self.entities))
        block = m if self.kept else max(16, native.BLOCK_ELEMENTS // n // 16 * 16)
        return [slice(start, min(start + block, m)) for start in range(0, m, block)]

    def _room(self, some: slice) -> Tensor:
        """For the sums of some queries in every shard."""
        shape = len(self.begins) - 1, some.stop - some.start, sum(self.widths)
        return torch.empty(shape, dtype=torch.float64)

    def by_rows(self, sums: Tensor, shares: Tensor) -> tuple[Tensor | None, ...]:
        """By query: 2 share c (sum g e - q sum g); by scale: -share sum g x / c."""
        g, gx, pull = sums[:, 1:2], sums[:, 2:3], sums[:, 3:]
        scale, share = self.scale.double()[:, None], shares[:, None]
        by_query = 2 * share * scale * (pull - self.queries.double() * g)
        by_scale = torch.where(scale > 0, -share * gx / scale, 0.0)
        return by_query.float(), by_scale.float() if self.scaled else None

    def by_tables(self, shares: Tensor) -> tuple[Tensor | None, ...]:
        """By entity."""
        found, shares = torch.empty_like(self.entities), shares.double().contiguous()
        m, n = len(self.queries), len(self.entities)
        step, everything = n if self.kept else max(1, native.BLOCK_ELEMENTS // m), slice(0, m)
        room = None if self.kept else self._room(everything)
        for first in range(0, n, max(1, step)):
            begins = np.clip(self.begins, first, min(first + step, n))
            if room is not None:
                self._call("hale_shard_sums", everything, begins, parts=room.data_ptr())
            self._call("hale_shard_push", everything, begins, found, shares=shares.data_ptr())
        return (found,)

    def _call(
        self,
        name: str,
        some: slice,
        begins: Ids | None = None,
        into: Tensor | None = None,
        **fields: int,
    ) -> None:
        """Ask the kernel about some queries and all entities, or those of shards that are given."""
        start, m, (n, d) = some.start, some.stop - some.start, self.entities.shape
        begins = self.begins if begins is None else np.ascontiguousarray(begins)
        first, last = int(begins[0]), int(begins[-1])
        size_of = kernel.library(kernel.chosen_build()).hale_workspace_size
        width = size_of(m, 1) - size_of(m, 0)  # of g, an entity
        place = native.workspace.of(size_of(m, last - first), self.queries).data_ptr()
        problem = Uniformity(
            m=m,
            n=n,
            d=d,
            queries=self.queries[start:].data_ptr(),
            entities=self.entities.data_ptr(),
            scale=self.scale[start:].data_ptr(),
            activation=native.KINDS.index(type(self.activation)),
            beta=getattr(self.activation, "beta", 0.0),
            shape=self.shape.data_ptr(),
            gammas=self.gammas[start:].data_ptr(),
            left_out=self.left_out.data_ptr(),
            left_from=self.left_from[start:].data_ptr(),
            ratio=1.0,
            threads=torch.get_num_threads(),
            workspace=place - 4 * first * width,  # where g of the first of all entities would be
            by_entity=None if into is None else into.data_ptr(),
        )
        asked = ShardSweep(
            sweep=ctypes.addressof(problem),
            shards=len(begins) - 1,
            begins=begins.ctypes.data,
            floors=self.floors[start:].data_ptr(),
            **fields,
        )
        kernel.call(name, asked)

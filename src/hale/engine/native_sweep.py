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
    entities are pushed; more queries than there is room for are taken in blocks, and g is then
    made again.
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
        m, n = len(queries), max(1, len(entities))
        self.block = max(16, min(m, native.BLOCK_ELEMENTS // n // 16 * 16))
        self.floors = torch.zeros(m)

    @property
    def widths(self) -> list[int]:
        """w, g, g x, g e."""
        return [1, 1, 1, self.queries.shape[1]]

    def peaks(self) -> Tensor | None:
        """Minus h at the nearest entity of each query."""
        bounded = ctypes.c_int32()
        for start in range(0, len(self.queries), self.block):
            self._call("hale_shard_floors", start, bounded=ctypes.addressof(bounded))
        return None if bounded.value else -self.floors.double()

    def sums(self, peaks: Tensor) -> Tensor:
        """(c, m, 3 + d), in float64."""
        self.floors = (-peaks).float()
        m, d = self.queries.shape
        shards = len(self.begins) - 1
        found = torch.empty(shards, m, 3 + d, dtype=torch.float64)
        for start in range(0, m, self.block):
            some = found[:, start : start + self.block].contiguous()
            self._call("hale_shard_sums", start, parts=some.data_ptr())
            found[:, start : start + self.block] = some
        return found

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
        m, shards = len(self.queries), len(self.begins) - 1
        for start in range(0, m, self.block):
            if self.block < m:  # the workspace has g of the last block
                count = min(self.block, m - start)
                room = torch.empty(shards, count, sum(self.widths), dtype=torch.float64)
                self._call("hale_shard_sums", start, parts=room.data_ptr())
            address = shares[start:].data_ptr()
            self._call("hale_shard_push", start, shares=address, into=found, add=start > 0)
        return (found,)

    def _call(
        self,
        name: str,
        start: int,
        into: Tensor | None = None,
        *,
        add: bool = False,
        **fields: int,
    ) -> None:
        """Ask the kernel about the queries of a block."""
        m, (n, d) = min(self.block, len(self.queries) - start), self.entities.shape
        size = kernel.library(kernel.chosen_build()).hale_workspace_size(m, n)
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
            add=add,
            threads=torch.get_num_threads(),
            workspace=native.workspace.of(size, self.queries).data_ptr(),
            by_entity=None if into is None else into.data_ptr(),
        )
        asked = ShardSweep(
            sweep=ctypes.addressof(problem),
            shards=len(self.begins) - 1,
            begins=self.begins.ctypes.data,
            floors=self.floors[start:].data_ptr(),
            **fields,
        )
        kernel.call(name, asked)

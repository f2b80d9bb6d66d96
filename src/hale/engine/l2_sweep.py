"""The sweep over the shards of a rank for squared L2 distances under an activation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from hale.engine import geometry, native
from hale.engine.activations import Activation
from hale.engine.library import current
from hale.engine.native_sweep import NativeSweep
from hale.engine.plain_sweep import PlainSweep
from hale.engine.shard_sums import Sweep
from hale.engine.tiles import Pairs

Ids = NDArray[np.int64]


class Queries(NamedTuple):
    """Vectors (m, d), scales (m, 1) or ones, and bounds of the activation (m,) or its own."""

    vectors: Tensor
    scale: Tensor | None = None
    gammas: Tensor | None = None


def l2_sweep(
    activation: Activation, queries: Queries, entities: Tensor, begins: Ids, without: Pairs
) -> Sweep:
    """Scores -h(c ||q - e||^2) of queries and entities (n, d); the rest as PlainSweep has it.

    It has gradients by vectors and scales, and by entities.
    """
    vectors, scale, gammas = queries
    scales = vectors if scale is None else scale
    if native.can_sweep(vectors, entities, scales, activation) and current().name == "native":
        return NativeSweep(activation, vectors, scale, gammas, entities, begins, without)

    def score(vectors: Tensor, scale: Tensor | None, entities: Tensor) -> Tensor:
        distances = (-geometry.minus_squared_distances(vectors, entities)).clamp_min(0.0)
        scaled = distances if scale is None else scale * distances
        return -activation(scaled, None if gammas is None else gammas[:, None])

    return PlainSweep(score, (vectors, scale), (entities,), begins, without)

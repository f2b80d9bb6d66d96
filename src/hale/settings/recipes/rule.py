"""The rule: settings for a graph that no recipe was tuned on."""

from __future__ import annotations

import math
from typing import NamedTuple

# Facts per entity of a sparse and of a dense graph, with the bound of the activation and the
# weight of alignment that suit them.
SPARSE, DENSE = 3.0, 15.0
SPARSE_GAMMA, DENSE_GAMMA = 6.0, 10.0
SPARSE_WEIGHT, DENSE_WEIGHT = 1.0, 0.3
DENSE_DROPOUT = 0.1
TRIPLES_A_STEP = 4096
QUERIES = 200
BLOCK = 4096
NEAR = 0.5


class GraphCounts(NamedTuple):
    """All that decides the settings of a graph: its name and its size."""

    name: str
    num_entities: int
    num_train: int  # training triples


def by_rule(graph: GraphCounts) -> dict[str, object]:
    """HaLE's settings from the size and density of a graph.

    gamma    6 at 3 training facts an entity or fewer, 10 at 15 or more, between them by the
             logarithm: with many answers a query, the bound must leave room to rank them
    weight   1 at 3, 0.3 at 15, between them its logarithm by that of the facts: where a query
             has many answers, no point is near to all of them, and pulling hard blurs the rest
    dropout  0 at 3, 0.1 at 15, between them by the logarithm, coming in over the run: its last
             part is the one that learns the facts by heart
    batch    4096 positives, or a sixteenth of both directions where that is less: an epoch of a
             small graph keeps enough steps
    queries  200, never more than the batch
    block    4096 entities, or as many as keep an estimated sum from being off by more than itself
             (see block_for); all where that is more than half of them
    near     0.5, for models whose relations start from turns or signed factors
    """
    triples = max(1, graph.num_train)
    density = triples / max(1, graph.num_entities)
    place = math.log(max(density, SPARSE) / SPARSE) / math.log(DENSE / SPARSE)
    place = min(1.0, place)
    gamma = SPARSE_GAMMA + place * (DENSE_GAMMA - SPARSE_GAMMA)
    weight = SPARSE_WEIGHT * (DENSE_WEIGHT / SPARSE_WEIGHT) ** place
    batch = max(1, min(TRIPLES_A_STEP, 2 * triples // 16))
    return {
        "gamma": round(gamma, 2),
        "weight": round(weight, 3),
        "dropout": round(place * DENSE_DROPOUT, 3),
        "dropout_start": 0.0,
        "batch_size": batch,
        "queries": min(QUERIES, batch),
        "block": block_for(round(gamma, 2), graph.num_entities),
        "near": NEAR,
    }


def block_for(gamma: float, num_entities: int) -> int | str:
    """The entities of a block, under a bound gamma of the activation.

    The estimate of a sum over N entities by s spreads by at most sinh(gamma/2)
    sqrt((N/s - 1) / (N - 1)) of it (hale.engine.estimate): by no more than all of it from
    s = N / (1 + (N - 1) / sinh^2) on.
    """
    enough = num_entities / (1 + (num_entities - 1) / math.sinh(gamma / 2) ** 2)
    size = max(BLOCK, math.ceil(enough))
    return "all" if 2 * size > num_entities else size

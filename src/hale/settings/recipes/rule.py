"""The rule: settings for a graph that no recipe was tuned on."""

from __future__ import annotations

import math
from typing import NamedTuple

# Facts per entity of a sparse and of a dense graph, with the bound of the activation that suits
# them; and those between which the weight of alignment falls.
SPARSE, DENSE = 3.0, 15.0
SPARSE_GAMMA, DENSE_GAMMA = 6.0, 10.0
FEW, SEVERAL = 2.5, 5.0
FEW_WEIGHT, SEVERAL_WEIGHT = 1.0, 0.15
DENSE_DROPOUT = 0.1
SPARSE_INIT, DENSE_INIT = 0.01, 0.05
TRIPLES_A_STEP = 4096
QUERIES = 200
BLOCK = 4096
NEAR = 0.5
RATE = 0.01
MANY_EPOCHS = 20.0  # from which on a batch need not be larger
LARGER = 2  # how often a batch is doubled at most


class GraphCounts(NamedTuple):
    """All that decides the settings of a graph: its name and its size."""

    name: str
    num_entities: int
    num_train: int  # training triples


def by_rule(graph: GraphCounts, epochs: float | None = None) -> dict[str, object]:
    """HaLE's settings from the size and density of a graph, and the epochs there is time for.

    gamma    6 at 3 training facts an entity or fewer, 10 at 15 or more, between them by the
             logarithm: with many answers a query, the bound must leave room to rank them
    weight   1 at 2.5, 0.15 at 5, between them its logarithm by that of the facts: where an entity
             has several facts, no point is near to all that they ask for, and pulling hard blurs
             the rest
    dropout  0 at 3, 0.1 at 15, between them by the logarithm, coming in over the run: its last
             part is the one that learns the facts by heart
    init     a scale of 0.01 at 3, 0.05 at 15, its logarithm as well: vectors that start close
             together are sorted sooner
    batch    4096 positives, or a sixteenth of both directions where that is less: an epoch of a
             small graph keeps enough steps. Where there is time for few epochs of these it is up
             to four times as large: a step then passes over more facts in little more time
    rate     0.01, times the cube root of the share of entities that a step touches, since a row
             that is touched seldom moves further by each touch; times the square root of what
             the batch is larger by
    queries  200, never more than the batch
    block    4096 entities, or as many as keep an estimated sum from being off by more than itself
             (see block_for); all where that is more than half of them
    near     0.5, for models whose relations start from turns or signed factors
    cardinality  on: by validation triples it gains on all four graphs with a recipe
    """
    triples = max(1, graph.num_train)
    density = triples / max(1, graph.num_entities)
    place = _place(density, SPARSE, DENSE)
    gamma = SPARSE_GAMMA + place * (DENSE_GAMMA - SPARSE_GAMMA)
    most = max(1, 2 * triples // 16)
    batch, usual = min(larger_batch(epochs) * TRIPLES_A_STEP, most), min(TRIPLES_A_STEP, most)
    touched = min(1.0, (BLOCK + 2 * TRIPLES_A_STEP) / max(1, graph.num_entities))
    return {
        "gamma": round(gamma, 2),
        "weight": round(_between(FEW_WEIGHT, SEVERAL_WEIGHT, _place(density, FEW, SEVERAL)), 3),
        "dropout": round(place * DENSE_DROPOUT, 3),
        "dropout_start": 0.0,
        "init_scale": round(_between(SPARSE_INIT, DENSE_INIT, place), 4),
        "batch_size": batch,
        "learning_rate": round(RATE * touched ** (1 / 3) * math.sqrt(batch / usual), 5),
        "queries": min(QUERIES, batch),
        "block": block_for(round(gamma, 2), graph.num_entities),
        "near": NEAR,
        "cardinality": True,
    }


def larger_batch(epochs: float | None) -> int:
    """By what a batch is larger, 1, 2 or 4, where there is time for so many epochs."""
    if epochs is None:
        return 1
    doublings = round(math.log2(MANY_EPOCHS / max(epochs, 1e-3)))
    return int(2 ** min(LARGER, max(0, doublings)))


def _place(number: float, low: float, high: float) -> float:
    """Where a number stands between two, by the logarithm: 0 at the low one, 1 at the high one."""
    return min(1.0, math.log(max(number, low) / low) / math.log(high / low))


def _between(low: float, high: float, place: float) -> float:
    """The number at a place between two, by the logarithm."""
    return float(low * (high / low) ** place)


def block_for(gamma: float, num_entities: int) -> int | str:
    """The entities of a block, under a bound gamma of the activation.

    The estimate of a sum over N entities by s spreads by at most sinh(gamma/2)
    sqrt((N/s - 1) / (N - 1)) of it (hale.engine.estimate): by no more than all of it from
    s = N / (1 + (N - 1) / sinh^2) on.
    """
    enough = num_entities / (1 + (num_entities - 1) / math.sinh(gamma / 2) ** 2)
    size = max(BLOCK, math.ceil(enough))
    return "all" if 2 * size > num_entities else size

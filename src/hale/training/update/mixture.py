"""Mixture: what the batches of an update are made of, and how fast it learns."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from hale.data.graph import SPLITS
from hale.data.revision import Revision
from hale.engine.randomness import Stream
from hale.settings import Settings
from hale.training.batches import Batches, Mixed, Shuffled
from hale.training.update.options import UpdateOptions
from hale.training.update.placement import displaced

# Batches hold at least this share of new facts, if there are so many.
LEAST = 0.01
# A batch of an update against one of its run: a short training has more need of steps.
SMALLER = 2


def rate_factor(revision: Revision) -> float:
    """How fast to learn: 1 where a fifth of all facts is new or gone, the fourth root below.

    A handful of facts must not stir what thousands have settled. Never below a tenth.
    """
    facts = sum(len(revision.after.split(split)) for split in SPLITS)
    share = (len(revision.added) + len(revision.removed)) / max(1, facts)
    return float(min(1.0, max(1e-4, share / 0.2)) ** 0.25)


def mixture(
    revision: Revision, settings: Settings, options: UpdateOptions, device: torch.device
) -> Batches:
    """Batches of new facts, facts around removed ones, and all others, each in its share.

    A new fact comes ``focus`` times as often as it would in training on the whole graph, but
    new facts are at least one in a hundred. An epoch is a pass over the first of the three.
    """
    after, size = revision.after, max(1, settings.batch_size // SMALLER)
    train = after.train
    new = np.arange(len(train)) >= len(train) - len(revision.added)  # they stand at the end
    around = ~new & np.isin(train[:, [0, 2]], displaced(revision)).any(axis=1)

    def batches(chosen: NDArray[np.bool_], count: int, stream: Stream) -> Shuffled:
        triples = train[chosen]
        return Shuffled(
            triples,
            max(1, min(count, 2 * len(triples))),
            settings.seed,
            stream,
            relations=len(after.relations),
            device=device,
            weights=None if after.weights is None else after.weights[chosen],
        )

    parts: list[Batches] = []
    left = size
    if new.any():
        weight = options.focus * new.sum()
        share = max(LEAST, weight / (weight + (~new).sum()))
        parts.append(batches(new, round(share * size), Stream.ADDED))
        left -= round(share * size)
    if around.any():
        share = max(LEAST, around.sum() / len(train))
        parts.append(batches(around, round(share * size), Stream.AROUND))
        left -= round(share * size)
    rest = ~new & ~around
    if rest.any():
        parts.append(batches(rest, left, Stream.SHUFFLE))
    whole = parts[0]
    for part in parts[1:]:
        whole = Mixed(whole, part)
    return whole

"""Joint training: two graphs in one space, some of whose entities are known to be the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from hale.data.graph import SPLITS, Graph
from hale.data.keys import Ids
from hale.data.vocabulary import Vocabulary
from hale.runs.run import Run
from hale.settings import Settings
from hale.training.observer import Observer
from hale.training.trainer import Trainer


@dataclass(frozen=True)
class Joint:
    """Two graphs as one: entity ``left[i]`` is the left graph's i, ``right[j]`` the right one's j.

    Entities of a pair have one id, so they share a vector. The other id that the right one would
    have stays in the vocabulary without a fact: ids are the same whatever the pairs are, so that
    the vectors of one round are where the next begins.
    """

    graph: Graph
    left: Ids  # (N_left,)
    right: Ids  # (N_right,)


def joined(left: Graph, right: Graph, pairs: Ids, *, same_relations: bool = False) -> Joint:
    """Two graphs as one, whose ``pairs`` (n, 2) are the same entities.

    All facts of both are trained on: none is held out, since no fact is to be predicted. Relations
    stay apart, even of one name, unless ``same_relations``.
    """
    count = len(left.entities)
    ours = np.arange(count)
    theirs = count + np.arange(len(right.entities))
    theirs[pairs[:, 1]] = pairs[:, 0]
    names = [f"left {name}" for name in left.entities.names]
    names += [f"right {name}" for name in right.entities.names]
    relations = [f"left {name}" for name in left.relations.names]
    turned = len(relations) + np.arange(len(right.relations))
    if same_relations:
        known = left.relations.ids(right.relations.names)
        relations += [
            f"right {name}"
            for name, same in zip(right.relations.names, known, strict=True)
            if same < 0
        ]
        turned = np.where(known < 0, len(left.relations) + np.cumsum(known < 0) - 1, known)
    else:
        relations += [f"right {name}" for name in right.relations.names]
    facts = np.concatenate([left.split(split) for split in SPLITS])
    others = np.concatenate([right.split(split) for split in SPLITS])
    mapped = np.stack([theirs[others[:, 0]], turned[others[:, 1]], theirs[others[:, 2]]], axis=1)
    everything = np.unique(np.concatenate([facts, mapped]), axis=0)
    graph = Graph(
        name=f"{left.name} and {right.name}",
        entities=Vocabulary(names, "entity"),
        relations=Vocabulary(relations, "relation"),
        train=everything,
        valid=everything[:0],
        test=everything[:0],
    )
    return Joint(graph, ours, theirs)


def train_joint(
    joint: Joint,
    settings: Settings,
    *,
    start: Mapping[str, Tensor] | None = None,
    observer: Observer | None = None,
) -> Run:
    """A run in memory on both graphs at once, from the weights of an earlier round if given."""
    return Trainer(joint.graph, settings, observer, start=start, keep="last").fit()

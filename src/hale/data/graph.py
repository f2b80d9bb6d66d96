"""Graph: a knowledge graph as ids, and the answers that it already knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hale.data.keys import Ids, SplitIndex
from hale.data.known_answers import KnownAnswers
from hale.data.names import column_of, worth_comparing
from hale.data.vocabulary import Vocabulary
from hale.errors import InputError, UnknownNameError

__all__ = ["SPLITS", "Graph", "GraphSize", "Ids", "KnownAnswers", "Split", "Vocabulary", "Weights"]

Weights = NDArray[np.float32]
Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


class GraphSize(NamedTuple):
    """All that a model needs to know of a graph."""

    num_entities: int
    num_relations: int  # without reciprocals; a model keeps 2 rows per relation


@dataclass(frozen=True, eq=False)
class Graph:
    """An immutable knowledge graph: names, id triples in three splits, labels.

    Triples are read-only int64 arrays (n, 3) of head, relation, tail; such an array
    is taken as it is, any other is copied. ``notes`` tells what was noticed while
    reading (repeats dropped, leaks, unseen names). ``weights`` (n,), float32, positive and finite,
    say how much each training triple counts in the loss; None where all count alike.
    """

    name: str
    entities: Vocabulary
    relations: Vocabulary
    train: Ids
    valid: Ids
    test: Ids
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    weights: Weights | None = None

    def __post_init__(self) -> None:
        limits = (len(self.entities), len(self.relations), len(self.entities))
        for split in SPLITS:
            triples = _own(getattr(self, split))
            if triples.ndim != 2 or triples.shape[1] != 3:
                raise InputError(f"The {split} triples have shape (n, 3), got {triples.shape}.")
            if len(triples) and (triples.min() < 0 or (triples.max(axis=0) >= limits).any()):
                raise InputError(
                    f"The {split} triples hold ids outside the vocabulary "
                    f"({limits[0]} entities, {limits[1]} relations)."
                )
            triples.flags.writeable = False
            object.__setattr__(self, split, triples)
        object.__setattr__(self, "labels", MappingProxyType(dict(self.labels)))
        if self.weights is not None:
            object.__setattr__(self, "weights", _checked_weights(self.weights, len(self.train)))

    @property
    def size(self) -> GraphSize:
        """Numbers of entities and relations."""
        return GraphSize(len(self.entities), len(self.relations))

    def split(self, name: str) -> Ids:
        """The triples of one split by its name."""
        if name not in SPLITS:
            raise UnknownNameError("split", name, SPLITS)
        triples: Ids = getattr(self, name)
        return triples

    def both_directions(self, triples: Ids) -> Ids:
        """(n, 3) -> (2n, 3): the triples, then their reciprocals (t, r + R, h)."""
        flipped = triples[:, [2, 1, 0]] + np.array([0, len(self.relations), 0])
        return np.concatenate([triples, flipped])

    def known(self, *splits: Split) -> KnownAnswers:
        """The answers of both directions in the given splits (all when none is given)."""
        asked = {name: self.split(name) for name in splits or SPLITS}
        others = [triples for name, triples in asked.items() if name != "train"]
        count = len(self.relations)
        if "train" not in asked:
            return KnownAnswers.both_ways(others, count)
        if not sum(map(len, others)):
            return self._known_train
        return KnownAnswers.both_ways(others, count, beside=self._known_train)

    @cached_property
    def _known_train(self) -> KnownAnswers:
        """Made once: it is most of what any index of this graph holds."""
        return KnownAnswers.both_ways([self.train], len(self.relations))

    @cached_property
    def known_answers(self) -> KnownAnswers:
        """The answers of both directions in all splits, kept once made."""
        return self.known()

    @cached_property
    def split_index(self) -> SplitIndex:
        """Which split holds a triple: codes are places in SPLITS."""
        return SplitIndex([self.split(name) for name in SPLITS])

    @property
    def triples(self) -> Ids:
        """The triples of all splits (n, 3), train first."""
        return np.concatenate([self.split(name) for name in SPLITS])

    def label(self, entity: str) -> str | None:
        """The readable name of an entity, where the source gave one."""
        return self.labels.get(entity)

    @cached_property
    def _by_label(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        held = self.entities.ids(self.labels) >= 0
        for (name, label), is_held in zip(self.labels.items(), held.tolist(), strict=True):
            if is_held:
                found.setdefault(label, []).append(name)
        return found

    def bearers(self, name: str) -> list[str]:
        """The entities that ``name`` can mean: the one of that name, else those so labelled."""
        return [name] if name in self.entities else self._by_label.get(name, [])

    def entity_id(self, name: str) -> int:
        """The id of an entity by its name or, where that is unique, its label."""
        bearers = self.bearers(name)
        if len(bearers) == 1:
            return self.entities.id(bearers[0])
        if bearers:
            raise InputError(
                f"{len(bearers)} entities are labelled {name!r}: {', '.join(bearers[:5])}. "
                "Name one of them by its id."
            )
        every = [self.entities.column, column_of(self._by_label)]
        choices = [choice for column in every for choice in worth_comparing(name, column)]
        raise UnknownNameError(
            "entity", name, choices, all_told=len(choices) == sum(map(len, every))
        )

    def __repr__(self) -> str:
        return (
            f"Graph({self.name!r}: {len(self.entities):,} entities, "
            f"{len(self.relations):,} relations, {len(self.train):,} / {len(self.valid):,} / "
            f"{len(self.test):,} train / valid / test triples)"
        )


def _checked_weights(weights: Weights, count: int) -> Weights:
    """The weights of ``count`` triples as an array of float32 of its own."""
    kept = np.array(weights, dtype=np.float32)
    if kept.shape != (count,):
        raise InputError(
            f"The {count:,} training triples have a weight each, got shape {kept.shape}."
        )
    if not ((kept > 0) & np.isfinite(kept)).all():
        raise InputError("The weights of triples are positive and finite numbers.")
    kept.flags.writeable = False
    return kept


def _own(triples: Ids) -> Ids:
    """The triples as an array of int64 that nobody can write to any more."""
    kept = np.asarray(triples)
    if kept.dtype == np.int64 and kept.flags.owndata and not kept.flags.writeable:
        return kept
    return np.array(kept, dtype=np.int64)

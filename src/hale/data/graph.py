"""Graph: a knowledge graph as ids, and the answers that it already knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hale.data.keys import Facts
from hale.errors import InputError, UnknownNameError

Ids = NDArray[np.int64]
Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


class GraphSize(NamedTuple):
    """All that a model needs to know of a graph."""

    num_entities: int
    num_relations: int  # without reciprocals; a model keeps 2 rows per relation


class Vocabulary:
    """Names in id order, and the way back from a name to its id."""

    def __init__(self, names: Sequence[str], kind: str) -> None:
        self.names = tuple(names)
        self.kind = kind

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: int) -> str:
        return self.names[number]

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def id(self, name: str) -> int:
        """The id of ``name``; an unknown one is an error with the nearest names."""
        found = self._ids.get(name)
        if found is None:
            raise UnknownNameError(self.kind, name, self.names)
        return found


class KnownAnswers:
    """The answers of every query in a set of triples, as sorted arrays (CSR).

    A query (head, relation) has the key ``head * 2R + relation``, where the
    reciprocal of relation r is r + R, so one table serves both directions.
    """

    def __init__(self, triples: Ids, num_relations: int) -> None:
        """Index ``triples`` (n, 3), which hold both directions."""
        self._width = 2 * num_relations
        keys = triples[:, 0] * self._width + triples[:, 1]
        order = np.lexsort((triples[:, 2], keys))
        keys, answers = keys[order], triples[order, 2]
        fresh = np.ones(len(keys), dtype=bool)
        fresh[1:] = (keys[1:] != keys[:-1]) | (answers[1:] != answers[:-1])
        keys, self._answers = keys[fresh], answers[fresh].astype(np.int64)
        self._keys, starts = np.unique(keys, return_index=True)
        self._offsets = np.append(starts, len(keys)).astype(np.int64)

    @cached_property
    def two_way(self) -> NDArray[np.bool_]:
        """Which relations (2R,) mostly run both ways.

        Those of whose facts (h, r, t) at least half have (t, r, h) beside them, such as a
        marriage or a likeness; a relation without facts does not.
        """
        heads, relations = np.divmod(
            np.repeat(self._keys, np.diff(self._offsets)), max(1, self._width)
        )
        size = 1 + int(max(heads.max(initial=0), self._answers.max(initial=0)))
        facts = (heads * self._width + relations) * size + self._answers  # ascending
        turned = (self._answers * self._width + relations) * size + heads
        place = np.minimum(np.searchsorted(facts, turned), max(0, len(facts) - 1))
        met = np.bincount(relations, facts[place] == turned, minlength=self._width)
        count = np.bincount(relations, minlength=self._width)
        return (count > 0) & (2 * met >= count)

    @cached_property
    def loops(self) -> NDArray[np.bool_]:
        """Which relations (2R,) may join an entity to itself.

        Those of whose facts (h, r, t) at least one in a hundred does (h = t), and those without
        facts, of which nothing is known.
        """
        heads, relations = np.divmod(
            np.repeat(self._keys, np.diff(self._offsets)), max(1, self._width)
        )
        met = np.bincount(relations, heads == self._answers, minlength=self._width)
        count = np.bincount(relations, minlength=self._width)
        return 100 * met >= count

    def __len__(self) -> int:
        """Facts, both directions counted."""
        return len(self._answers)

    def counts(self, heads: Ids, relations: Ids) -> Ids:
        """How many answers each query has: (B,), (B,) -> (B,)."""
        return self._spans(heads, relations)[1]

    def _spans(self, heads: Ids, relations: Ids) -> tuple[Ids, Ids]:
        """Where each query's answers start, and how many there are."""
        if not len(self._keys):
            return np.zeros(len(heads), dtype=np.int64), np.zeros(len(heads), dtype=np.int64)
        keys = heads * self._width + relations
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found = self._keys[place] == keys
        starts = np.where(found, self._offsets[place], 0)
        counts = np.where(found, self._offsets[place + 1] - self._offsets[place], 0)
        return starts, counts

    def of(self, heads: Ids, relations: Ids) -> tuple[Ids, Ids]:
        """Known answers of queries (B,), (B,) as pairs (row, entity), by row.

        Row i of the pairs speaks of query i; a query without answers has none.
        """
        starts, counts = self._spans(heads, relations)
        rows = np.repeat(np.arange(len(heads), dtype=np.int64), counts)
        # whole slices: a place for every pair would cost ten times as much where answers are many
        spans = zip(starts.tolist(), (starts + counts).tolist(), strict=True)
        slices = [self._answers[start:end] for start, end in spans]
        return rows, np.concatenate(slices) if slices else rows


@dataclass(frozen=True, eq=False)
class Graph:
    """An immutable knowledge graph: names, id triples in three splits, labels.

    Triples are read-only int64 arrays (n, 3) of head, relation, tail. ``notes``
    tells what was noticed while reading (repeats dropped, leaks, unseen names).
    """

    name: str
    entities: Vocabulary
    relations: Vocabulary
    train: Ids
    valid: Ids
    test: Ids
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        limits = (len(self.entities), len(self.relations), len(self.entities))
        for split in SPLITS:
            triples = np.array(getattr(self, split), dtype=np.int64)
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
        triples = np.concatenate([self.split(name) for name in splits or SPLITS])
        return KnownAnswers(self.both_directions(triples), len(self.relations))

    @cached_property
    def known_answers(self) -> KnownAnswers:
        """The answers of both directions in all splits, kept once made."""
        return self.known()

    @cached_property
    def facts(self) -> Facts:
        """Which split holds a triple: codes are places in SPLITS."""
        return Facts([self.split(name) for name in SPLITS], *self.size)

    def label(self, entity: str) -> str | None:
        """The readable name of an entity, where the source gave one."""
        return self.labels.get(entity)

    @cached_property
    def _by_label(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, label in self.labels.items():
            if name in self.entities:
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
        raise UnknownNameError("entity", name, [*self.entities.names, *self._by_label])

    def __repr__(self) -> str:
        return (
            f"Graph({self.name!r}: {len(self.entities):,} entities, "
            f"{len(self.relations):,} relations, {len(self.train):,} / {len(self.valid):,} / "
            f"{len(self.test):,} train / valid / test triples)"
        )

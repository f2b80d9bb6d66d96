"""Graph: a knowledge graph as ids, and the answers that it already knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hale.data.keys import Ids, SplitIndex
from hale.data.known_answers import KnownAnswers
from hale.data.matching import best_matches
from hale.data.names import column_of
from hale.data.relation_profiles import RelationProfiles
from hale.data.results import html_table, to_pandas
from hale.data.sides import Sides
from hale.data.types import Types, types_from_facts
from hale.data.vocabulary import SUGGESTED, Vocabulary
from hale.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    import pandas

__all__ = ["SPLITS", "Graph", "GraphSize", "Ids", "KnownAnswers", "Split", "Vocabulary", "Weights"]

Weights = NDArray[np.float32]
Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
ROLES = ("head", "relation", "tail")


class GraphSize(NamedTuple):
    """All that a model needs to know of a graph."""

    num_entities: int
    num_relations: int  # without reciprocals; a model keeps 2 rows per relation

    @property
    def first(self) -> int:
        """The number of the first entity: of a whole graph 0."""
        return 0


class SpanSize(GraphSize):
    """Of a graph of which a model has a span of the entities, the first numbered ``first``."""

    _first: int

    def __new__(cls, num_entities: int, num_relations: int, first: int) -> SpanSize:
        made = super().__new__(cls, num_entities, num_relations)
        made._first = first
        return made

    @property
    def first(self) -> int:
        """The number of the first entity."""
        return self._first


@dataclass(frozen=True, eq=False)
class Graph:
    """An immutable knowledge graph: names, id triples in three splits, labels.

    Triples are read-only int64 arrays (n, 3) of head, relation, tail; such an array
    is taken as it is, any other is copied. ``notes`` tells what was noticed while
    reading (repeats dropped, leaks, unseen names), ``types`` what kind of things entities are.
    ``weights`` (n,), float32, positive and finite, say how much each training triple counts in the
    loss; None where all count alike.
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
    types: Types | None = None

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

    @cached_property
    def sides(self) -> Sides:
        """Which entities stand on either side of each relation in train, kept once made."""
        return Sides(self._known_train, *self.size)

    @cached_property
    def profiles(self) -> RelationProfiles:
        """What train says of each relation, kept once made."""
        return RelationProfiles(self._known_train, *self.size)

    @property
    def triples(self) -> Ids:
        """The triples of all splits (n, 3), train first."""
        return np.concatenate([self.split(name) for name in SPLITS])

    def types_by(self, relation: str) -> Types:
        """Types from the facts of a relation in train: what its tails are, its heads are of."""
        return types_from_facts(self.train, self.relations.id(relation), self.entities)

    def label(self, entity: str) -> str | None:
        """The readable name of an entity, where the source gave one."""
        return self.labels.get(entity)

    def label_lines(self) -> pl.Series:
        """Entity and label, parted by a tab, of those that have one, in id order."""
        ids = self.entities.ids(self.labels)
        order = np.argsort(ids)[np.count_nonzero(ids < 0) :]  # labels of others are left out
        labels = column_of(" ".join(label.split()) for label in self.labels.values()).fill_null("")
        return (column_of(self.labels) + "\t" + labels).gather(order)

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
        raise UnknownNameError("entity", name, self.entities.few, meant=self._meant(name))

    def _meant(self, name: str) -> dict[str, str | None]:
        """The entities that an unknown name may mean, by name or label, with their labels."""
        labels, owners = self.label_column
        rows = [
            (match, match.place) for match in best_matches(self.entities.column, name, SUGGESTED)
        ]
        rows += [
            (match, int(owners[match.place])) for match in best_matches(labels, name, SUGGESTED)
        ]
        found = [self.entities[number] for _, number in sorted(rows, key=lambda row: row[0].order)]
        return {entity: self.label(entity) for entity in list(dict.fromkeys(found))[:SUGGESTED]}

    @cached_property
    def label_column(self) -> tuple[pl.Series, Ids]:
        """The labels of entities as a column, and whose each is: (m,), (m,)."""
        owners = self.entities.ids(self.labels)
        held = np.flatnonzero(owners >= 0)
        return column_of(self.labels.values()).fill_null("").gather(held), owners[held]

    def to_polars(self, *splits: Split) -> pl.DataFrame:
        """Triples by name (of all splits when none is given): head, relation, tail, split."""
        names, relations = self.entities.column, self.relations.column
        parts = []
        for split in splits or SPLITS:
            head, relation, tail = self.split(split).T
            columns = [names.gather(head), relations.gather(relation), names.gather(tail)]
            named = [column.alias(r) for column, r in zip(columns, ROLES, strict=True)]
            parts.append(
                pl.DataFrame([*named, pl.Series("split", [split]).new_from_index(0, len(head))])
            )
        return pl.concat(parts)

    def to_pandas(self, *splits: Split) -> pandas.DataFrame:
        """The same as a pandas frame."""
        return to_pandas(self.to_polars(*splits))

    def _repr_html_(self) -> str:
        """As a notebook shows it: what there is of each relation."""
        counts = [np.bincount(self.split(s)[:, 1], minlength=len(self.relations)) for s in SPLITS]
        frame = pl.DataFrame([self.relations.column.alias("relation")]).with_columns(
            pl.Series(split, count) for split, count in zip(SPLITS, counts, strict=True)
        )
        return html_table(frame.sort("train", descending=True), caption=repr(self))

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
    """The triples as an array of int64 that nobody can write to any more; a mapped file is one."""
    if isinstance(triples, np.memmap) and triples.dtype == np.int64 and triples.mode == "r":
        return triples
    kept = np.asarray(triples)
    if kept.dtype == np.int64 and kept.flags.owndata and not kept.flags.writeable:
        return kept
    return np.array(kept, dtype=np.int64)

"""Types: what kind of thing an entity is, one or several or none."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl

from hale.data.keys import Ids
from hale.data.vocabulary import Vocabulary
from hale.errors import InputError


class Types:
    """Which types entities have: names, and pairs of entity and type in order, each once.

    ``entities`` (n,) and ``types`` (n,) are ids. New entities at the end of a vocabulary leave
    them as they are.
    """

    def __init__(self, names: Vocabulary, entities: Ids, types: Ids) -> None:
        pairs = np.unique(np.stack([entities, types], axis=1).astype(np.int64), axis=0)
        self.names = names
        self.entities, self.types = np.ascontiguousarray(pairs.T)

    def __len__(self) -> int:
        """Pairs of entity and type."""
        return len(self.entities)

    @cached_property
    def _by_type(self) -> tuple[Ids, Ids]:
        """Entities by type, ascending within each, and where each type's begin: (n,), (T + 1,)."""
        order = np.argsort(self.types, kind="stable")
        counts = np.bincount(self.types, minlength=len(self.names))
        return self.entities[order], np.concatenate([[0], np.cumsum(counts)])

    def of(self, entities: Ids) -> Ids:
        """The types that some entities (n,) have, ascending."""
        starts = np.searchsorted(self.entities, entities)
        counts = np.searchsorted(self.entities, entities, side="right") - starts
        before = np.cumsum(counts) - counts
        return np.unique(self.types[np.repeat(starts - before, counts) + np.arange(counts.sum())])

    def members(self, types: Ids) -> Ids:
        """The entities of any of some types (n,), ascending."""
        entities, bounds = self._by_type
        parts = [entities[bounds[number] : bounds[number + 1]] for number in types.tolist()]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)

    def lines(self, entities: Vocabulary) -> pl.Series:
        """Entity and type, parted by a tab, one pair a line."""
        return entities.column.gather(self.entities) + "\t" + self.names.column.gather(self.types)


def types_from_names(named: pl.DataFrame, entities: Vocabulary) -> Types:
    """Types from a table of names, ``entity`` and ``type``; entities that are unknown are left out.

    Of none that is known there is an error.
    """
    ids = entities.ids(named["entity"])
    known = ids >= 0
    if not known.any():
        some = ", ".join(map(repr, named["entity"].head(3).to_list()))
        raise InputError(f"None of the entities that have a type ({some}) is in the graph.")
    rows = named["type"].filter(pl.Series(known))
    names = Vocabulary(rows.unique().sort(), "type")
    return Types(names, ids[known], names.ids(rows))


def types_from_lines(lines: pl.Series, entities: Vocabulary) -> Types:
    """Back from ``Types.lines``."""
    parts = lines.str.split_exact("\t", 1).struct.rename_fields(["entity", "type"])
    return types_from_names(parts.struct.unnest(), entities)


def types_from_facts(train: Ids, relation: int, entities: Vocabulary) -> Types:
    """Types from the facts of a relation: an entity is of each type that it leads to."""
    facts = train[train[:, 1] == relation]
    tails, types = np.unique(facts[:, 2], return_inverse=True)
    return Types(Vocabulary(entities.column.gather(tails), "type"), facts[:, 0], types)

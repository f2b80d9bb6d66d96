"""Revision: facts added to a graph and taken from it -> the graph after, ids of old names kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hale.data.graph import SPLITS, Graph, Weights
from hale.data.keys import Ids, TripleSet
from hale.data.sources import Triples
from hale.data.sources.assemble import split_at_random
from hale.data.sources.faults import Fault, Faults
from hale.data.sources.layout import ROLES
from hale.data.vocabulary import Vocabulary
from hale.errors import InputError

Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Revision:
    """A graph before and after, and what lies between.

    ``added`` and ``removed`` are ids (n, 3) of the graph after: facts that joined train, and
    facts that left their split. ``held_out`` joined test, and are not trained on.
    """

    before: Graph
    after: Graph
    added: Ids
    removed: Ids
    held_out: Ids
    notes: tuple[str, ...] = ()

    @property
    def new_entities(self) -> int:
        """Entities that the graph did not know."""
        return len(self.after.entities) - len(self.before.entities)

    @property
    def new_relations(self) -> int:
        """Relations that the graph did not know."""
        return len(self.after.relations) - len(self.before.relations)

    @property
    def is_empty(self) -> bool:
        """Whether the graph after is the one before: nothing was new, and nothing left."""
        joined = any(
            len(self.after.split(split)) != len(self.before.split(split)) for split in SPLITS
        )
        return not joined and not len(self.removed) and not self.new_entities


def revise(
    graph: Graph,
    add: Triples | None = None,
    remove: Triples | None = None,
    *,
    holdout: Triples | float = 0.0,
    seed: int = 0,
    skip_bad: bool = False,
) -> Revision:
    """Add facts to train and take facts from every split.

    New names get the next ids, in sorted order; old ids stay, and so do names that no fact is
    left of. A fact that the graph already holds, in any split, stays where it is. ``holdout``
    is a table of new facts that join test, or a share of the added ones for each of valid and
    test, drawn by ``seed`` so that train still holds every name. A fact to remove that is not
    there, or that is also to be added, is a fault; all of them are told in one error, or with
    ``skip_bad`` noted. Weights stay with their facts; new facts weigh 1 unless they say otherwise.
    """
    given = (add, remove, holdout if isinstance(holdout, Triples) else None)
    notes: list[str] = [note for triples in given if triples for note in triples.notes]
    parts = _parts(add, holdout, seed)
    named = pl.concat([rows.select(ROLES) for rows in parts.values()])
    wider = _with_names(graph, named, add)
    ids = {split: _ids(wider, rows) for split, rows in parts.items()}
    held = TripleSet(graph.triples)
    removed = np.empty((0, 3), dtype=np.int64)
    if remove is not None:
        asked = _ids(wider, remove.distinct)
        there = held.holds(asked)
        twice = TripleSet(np.concatenate(list(ids.values()))).holds(asked)
        unheard: Marks = asked.max(axis=1) < 0
        notes += _not_removed(remove, there, twice, unheard, skip_bad)
        removed = asked[there & ~twice]

    fresh = {split: triples[~held.holds(triples)] for split, triples in ids.items()}
    if repeated := sum(map(len, ids.values())) - sum(map(len, fresh.values())):
        notes.append(f"{repeated:,} of the facts to add are in the graph already (left there)")
    gone = TripleSet(removed)
    stay = {split: ~gone.holds(graph.split(split)) for split in SPLITS}
    train, valid, test = (
        np.concatenate([graph.split(split)[stay[split]], fresh[split]]) for split in SPLITS
    )
    weights = None
    if graph.weights is not None or "weight" in parts["train"].columns:
        new = _weights(parts["train"])[~held.holds(ids["train"])]
        old = np.ones(len(graph.train)) if graph.weights is None else graph.weights
        weights = np.concatenate([old[stay["train"]], new]).astype(np.float32)
    if not len(train):
        raise InputError("No training triples would be left.")
    notes += _unseen_notes(graph, wider, train)
    return Revision(
        before=graph,
        after=replace(wider, train=train, valid=valid, test=test, weights=weights),
        added=fresh["train"],
        removed=removed,
        held_out=fresh["test"],
        notes=tuple(notes),
    )


def _weights(rows: pl.DataFrame) -> Weights:
    """The weights of new facts: 1 unless they are given."""
    if "weight" in rows.columns:
        return rows["weight"].to_numpy()
    return np.ones(len(rows), dtype=np.float32)


def _parts(add: Triples | None, holdout: Triples | float, seed: int) -> dict[str, pl.DataFrame]:
    """Which split each new fact is for."""
    nothing = pl.DataFrame(schema=dict.fromkeys(ROLES, pl.String))
    new = nothing if add is None else add.distinct.drop("place")
    parts = {"train": new, "valid": nothing, "test": nothing}
    if isinstance(holdout, Triples):
        parts["test"] = holdout.distinct.select(ROLES)
        parts["train"] = new.join(holdout.rows, on=ROLES, how="anti", maintain_order="left")
    elif holdout and len(new):
        parts |= split_at_random(new, share=holdout, seed=seed)
    return parts


def _not_removed(
    remove: Triples, there: Marks, twice: Marks, unheard: Marks, skip_bad: bool
) -> list[str]:
    """Notes on facts that cannot leave: they are not there, or are to be added as well.

    A first line of which no name is known may be a header: what to do then is said.
    """

    def what(place: int, both: bool, unknown: bool) -> str:
        if both:
            return "it is to be added as well"
        if unknown and place == 1 and remove.unit == "line":
            return (
                "there is no such fact, and none of its names is known; if it is a header, say "
                "--header (header=True)"
            )
        return "there is no such fact"

    rows = zip(*remove.distinct, there, twice, unheard, strict=True)
    faults = Faults(
        Fault(place, f"{' '.join(names)}: {what(place, both, unknown)}")
        for *names, place, known, both, unknown in rows
        if both or not known
    )
    faults.refuse(remove.source, unit=remove.unit, skip_bad=skip_bad)
    return [f"{remove.source}, {text}: skipped" for text in faults.told(remove.unit)]


def _with_names(graph: Graph, rows: pl.DataFrame, add: Triples | None) -> Graph:
    """The graph with the names of the rows appended to its vocabularies."""
    return replace(
        graph,
        entities=_joined(graph.entities, pl.concat([rows["head"], rows["tail"]])),
        relations=_joined(graph.relations, rows["relation"]),
        labels={**(add.labels if add else {}), **graph.labels},
        notes=(),
    )


def _joined(old: Vocabulary, names: pl.Series) -> Vocabulary:
    """The old names, then the others in sorted order."""
    given = names.unique().sort()
    new = given.filter(old.ids(given) < 0)
    return Vocabulary(pl.concat([old.column, new.alias(old.column.name)]), old.kind)


def _unseen_notes(before: Graph, after: Graph, train: Ids) -> list[str]:
    """New names that no training fact has, so that nothing can place them."""
    notes = []
    for kind, old, names, seen in (
        ("entities", before.entities, after.entities, train[:, [0, 2]]),
        ("relations", before.relations, after.relations, train[:, 1]),
    ):
        lacking = np.setdiff1d(np.arange(len(old), len(names)), seen)
        if len(lacking):
            some = ", ".join(names[int(number)] for number in lacking[:3])
            notes.append(
                f"{len(lacking):,} of the new {kind} have no training fact ({some}), so their "
                "vectors mean nothing: give a fact of each to add"
            )
    return notes


def _ids(graph: Graph, rows: pl.DataFrame) -> Ids:
    """Rows of names -> ids (n, 3); a name that the graph lacks is -1."""
    vocabularies = (graph.entities, graph.relations, graph.entities)
    columns = [names.ids(rows[role]) for role, names in zip(ROLES, vocabularies, strict=True)]
    return np.stack(columns, axis=1)

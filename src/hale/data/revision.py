"""Changes: facts added to a graph and taken from it -> the graph after, ids of old names kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from hale.data.graph import SPLITS, Graph, Ids, Vocabulary
from hale.data.sources import Triples
from hale.data.sources.assemble import split_at_random
from hale.data.sources.columns import ROLES
from hale.data.sources.triples import refuse
from hale.errors import InputError


@dataclass(frozen=True)
class Change:
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


def change(
    graph: Graph,
    add: Triples | None = None,
    remove: Triples | None = None,
    *,
    holdout: Triples | float = 0.0,
    seed: int = 0,
    skip_bad: bool = False,
) -> Change:
    """Add facts to train and take facts from every split.

    New names get the next ids, in sorted order; old ids stay, and so do names that no fact is
    left of. A fact that the graph already holds, in any split, stays where it is. ``holdout``
    is a table of new facts that join test, or a share of the added ones for each of valid and
    test, drawn by ``seed`` so that train still holds every name. A fact to remove that is not
    there, or that is also to be added, is a fault; all of them are told in one error, or with
    ``skip_bad`` noted.
    """
    notes: list[str] = [note for given in (add, remove) if given for note in given.notes]
    parts = {"train": _rows(add), "valid": _rows(None), "test": _rows(None)}
    if isinstance(holdout, Triples):
        parts["test"] = holdout.rows
        parts["train"] = parts["train"].join(holdout.rows, on=ROLES, how="anti")
        notes += holdout.notes
    elif holdout and add is not None:
        parts |= split_at_random(add.rows, share=holdout, seed=seed)
    named = _with_names(graph, pl.concat(list(parts.values())), add)
    ids = {split: _ids(named, rows) for split, rows in parts.items()}

    gone = _ids(named, _rows(remove))
    if remove is not None:
        there = _is_in(gone, np.concatenate([named.split(split) for split in SPLITS]), named)
        twice = _is_in(gone, np.concatenate(list(ids.values())), named)
        faults = [
            f"{' '.join(row)}: {'it is to be added as well' if both else 'there is no such fact'}"
            for row, known, both in zip(remove.rows.rows(), there, twice, strict=True)
            if both or not known
        ]
        refuse(remove.source, faults, skip_bad=skip_bad)
        notes += [f"{remove.source}, {fault}: skipped" for fault in faults]
        gone = gone[there & ~twice]

    held = np.concatenate([graph.split(split) for split in SPLITS])
    fresh = {split: rows[~_is_in(rows, held, named)] for split, rows in ids.items()}
    if repeated := sum(map(len, ids.values())) - sum(map(len, fresh.values())):
        notes.append(f"{repeated:,} of the facts to add are in the graph already (left there)")
    after = {
        split: np.concatenate(
            [graph.split(split)[~_is_in(graph.split(split), gone, named)], fresh[split]]
        )
        for split in SPLITS
    }
    if not len(after["train"]):
        raise InputError("No training triples would be left.")
    return Change(
        before=graph,
        after=replace(named, train=after["train"], valid=after["valid"], test=after["test"]),
        added=fresh["train"],
        removed=gone,
        held_out=fresh["test"],
        notes=tuple(notes),
    )


def _rows(triples: Triples | None) -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys(ROLES, pl.String)) if triples is None else triples.rows


def _with_names(graph: Graph, rows: pl.DataFrame, add: Triples | None) -> Graph:
    """The graph with the names of the rows appended to its vocabularies."""
    ends = pl.concat([rows["head"], rows["tail"]]).unique().sort().to_list()
    entities = [name for name in ends if name not in graph.entities]
    relations = [name for name in rows["relation"].unique().sort() if name not in graph.relations]
    return replace(
        graph,
        entities=Vocabulary([*graph.entities.names, *entities], "entity"),
        relations=Vocabulary([*graph.relations.names, *relations], "relation"),
        labels={**(add.labels if add else {}), **graph.labels},
        notes=(),
    )


def _ids(graph: Graph, rows: pl.DataFrame) -> Ids:
    """Rows of names -> ids (n, 3); a name that the graph lacks is -1."""
    vocabularies = (graph.entities, graph.relations, graph.entities)
    ids = np.full((len(rows), 3), -1, dtype=np.int64)
    for place, (role, names) in enumerate(zip(ROLES, vocabularies, strict=True)):
        ids[:, place] = [names.id(name) if name in names else -1 for name in rows[role]]
    return ids


def _is_in(triples: Ids, among: Ids, graph: Graph) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of the triples (n, 3) stand among others: (n,)."""
    num_entities, num_relations = graph.size
    place = np.array([num_relations * num_entities, num_entities, 1])  # one number a triple
    known = (triples >= 0).all(axis=1)
    return known & np.isin(triples @ place, among[(among >= 0).all(axis=1)] @ place)

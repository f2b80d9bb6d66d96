"""Rows of names -> a Graph: vocabulary, ids, splits, and notes on what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from hale.data.graph import SPLITS, Graph
from hale.data.keys import Ids, TripleSet
from hale.data.sources.layout import ROLES
from hale.data.vocabulary import Vocabulary
from hale.errors import InputError


def assemble(
    name: str,
    rows: Mapping[str, pl.DataFrame],
    *,
    labels: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Graph:
    """Number the names in sorted order and turn each split into ids.

    Repeats within a split are dropped and counted. Held-out triples that also
    stand in train, or that name what train lacks, stay in and are noted.
    """
    notes = list(notes)
    splits = {split: distinct(table, split, notes) for split, table in rows.items()}

    names = pl.concat([frame[role] for frame in splits.values() for role in ("head", "tail")])
    entities = names.unique().sort()
    relations = pl.concat([frame["relation"] for frame in splits.values()]).unique().sort()
    numbers = {"head": entities, "relation": relations, "tail": entities}
    ids = {split: _ids(frame, numbers) for split, frame in splits.items()}
    notes += _held_out_notes(ids)
    empty = np.empty((0, 3), dtype=np.int64)
    return Graph(
        name=name,
        entities=Vocabulary(entities.to_list(), "entity"),
        relations=Vocabulary(relations.to_list(), "relation"),
        train=ids["train"],
        valid=ids.get("valid", empty),
        test=ids.get("test", empty),
        labels=labels or {},
        notes=tuple(notes),
    )


def distinct(rows: pl.DataFrame, name: str, notes: list[str]) -> pl.DataFrame:
    """Drop repeated triples, and count them in the notes."""
    once = rows.unique(maintain_order=True)
    if dropped := len(rows) - len(once):
        notes.append(f"{name}: {_count(dropped, 'repeated triple')} dropped")
    return once


def split_at_random(rows: pl.DataFrame, *, share: float, seed: int) -> dict[str, pl.DataFrame]:
    """Hold out ``share`` of the (distinct) triples for each of valid and test, by ``seed``.

    In a random order, the first triple of every entity and of every relation
    stays in train, so nothing held out is unseen there; where too few triples
    are left to hold out, both splits shrink alike.
    """
    if not 0 <= share < 0.5:
        raise InputError(f"The held-out share is at least 0 and below 0.5, got {share}.")
    order = np.random.default_rng(seed).permutation(len(rows))
    shuffled = rows[order]
    stays = np.zeros(len(rows), dtype=bool)
    ends = shuffled.select(pl.concat_list("head", "tail").alias("end").explode())
    entity_first = ends.with_row_index().group_by("end").agg(pl.col("index").min())["index"]
    stays[entity_first.to_numpy() // 2] = True  # two ends a row
    relation_first = (
        shuffled.with_row_index().group_by("relation").agg(pl.col("index").min())["index"]
    )
    stays[relation_first.to_numpy()] = True

    free = np.flatnonzero(~stays)
    wanted = min(round(share * len(rows)), len(free) // 2)
    held = np.full(len(rows), "train", dtype="<U5")
    held[free[:wanted]] = "valid"
    held[free[wanted : 2 * wanted]] = "test"
    chosen = pl.Series(held)
    parts = {split: shuffled.filter(chosen == split) for split in SPLITS}
    return {split: part for split, part in parts.items() if len(part)}


def _ids(frame: pl.DataFrame, numbers: Mapping[str, pl.Series]) -> Ids:
    columns = [
        frame[role].cast(pl.Enum(numbers[role])).to_physical().cast(pl.Int64).to_numpy()
        for role in ROLES
    ]
    return np.stack(columns, axis=1)


def _held_out_notes(ids: Mapping[str, Ids]) -> list[str]:
    """What a reader of the metrics should know of valid and test."""
    train = ids["train"]
    trained = TripleSet(train)
    entities = np.unique(train[:, [0, 2]])
    relations = np.unique(train[:, 1])
    notes = []
    for split in ("valid", "test"):
        triples = ids.get(split)
        if triples is None:
            continue
        if leaked := int(trained.holds(triples).sum()):
            notes.append(f"{split}: {_count(leaked, 'triple')} also in train (kept)")
        lacking = np.setdiff1d(triples[:, [0, 2]], entities)
        foreign = np.setdiff1d(triples[:, 1], relations)
        if len(lacking) or len(foreign):
            touched = np.isin(triples[:, [0, 2]], lacking).any(axis=1)
            touched |= np.isin(triples[:, 1], foreign)
            what = " and ".join(
                _count(len(missing), noun)
                for missing, noun in ((lacking, "entity"), (foreign, "relation"))
                if len(missing)
            )
            notes.append(
                f"{split}: {_count(int(touched.sum()), 'triple')} with {what} "
                "that train lacks (kept and scored)"
            )
    return notes


def _count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {noun if number == 1 else plural}"

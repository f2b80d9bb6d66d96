"""Rows of names -> a Graph: vocabulary, ids, splits, and notes on what was found.

Names are held once, and rows as codes of them (polars' categories), 4 bytes a name: what takes most
memory of a graph while it is read is the text of its file otherwise, many times over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hale.data.graph import SPLITS, Graph, Weights
from hale.data.keys import LIMIT, Ids, TripleSet
from hale.data.sources.layout import ROLES
from hale.data.vocabulary import Vocabulary
from hale.errors import InputError

NameCodes = NDArray[np.uint32]

# Triples that are looked up together.
PART = 1 << 20


def codes_of_names() -> dict[str, pl.DataType]:
    """The types of columns that hold codes of names: one for entities, one for relations."""
    entity, relation = (pl.Categorical(pl.Categories.random()) for _ in range(2))
    return {"head": entity, "relation": relation, "tail": entity}


def assemble(
    name: str,
    rows: Mapping[str, pl.DataFrame],
    *,
    labels: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Graph:
    """Number the names in sorted order and turn each split into ids.

    The rows are coded, all by the same ``codes_of_names``. Repeats within a split are dropped and
    counted; their weights, where rows have them, are added. Held-out triples that also stand in
    train, or that name what train lacks, stay in and are noted.
    """
    notes = list(notes)
    splits = {split: distinct(table, split, notes) for split, table in rows.items()}
    ends = [frame[role] for frame in splits.values() for role in ("head", "tail")]
    entities, entity_ids = _numbered(ends)
    relations, relation_ids = _numbered([frame["relation"] for frame in splits.values()])
    numbers = (entity_ids, relation_ids, entity_ids)
    ids = {split: _ids(frame, numbers) for split, frame in splits.items()}
    vocabularies = Vocabulary(entities, "entity"), Vocabulary(relations, "relation")
    notes += _held_out_notes(ids, *map(len, vocabularies))
    empty = np.empty((0, 3), dtype=np.int64)
    return Graph(
        name,
        *vocabularies,
        train=ids["train"],
        valid=ids.get("valid", empty),
        test=ids.get("test", empty),
        labels=labels or {},
        notes=tuple(notes),
        weights=_weights(splits["train"]),
    )


def _weights(rows: pl.DataFrame) -> Weights | None:
    return rows["weight"].to_numpy() if "weight" in rows.columns else None


def distinct(rows: pl.DataFrame, name: str, notes: list[str]) -> pl.DataFrame:
    """Drop repeated triples (coded), and count them in the notes; weights are added."""
    keys = _keys(_codes(rows))
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return rows
    weighed = "weight" in rows.columns
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    dropped = f"{_count(len(rows) - len(first), 'repeated triple')} dropped"
    notes.append(f"{name}: {dropped}" + (", their weights added" if weighed else ""))
    kept = rows[first]
    if weighed:
        sums = np.bincount(of, rows["weight"].to_numpy().astype(np.float64))
        kept = kept.with_columns(weight=pl.Series(sums).cast(pl.Float32))
    return kept[np.argsort(first)]


def _keys(codes: Sequence[NameCodes]) -> Ids:
    """A number for each row, the same for the same triple."""
    sizes = [1 + int(column.max(initial=0)) for column in codes]
    keys = codes[0].astype(np.int64)
    for column, size in zip(codes[1:], sizes[1:], strict=True):
        if math.prod(sizes) >= LIMIT:  # numbers of the pairs there are, fewer than of all pairs
            _, keys = np.unique(keys, return_inverse=True)
        keys *= size
        keys += column
    return keys


def split_at_random(rows: pl.DataFrame, *, share: float, seed: int) -> dict[str, pl.DataFrame]:
    """Hold out ``share`` of the (distinct) triples for each of valid and test, by ``seed``.

    In a random order, the first triple of every entity and of every relation
    stays in train, so nothing held out is unseen there; where too few triples
    are left to hold out, both splits shrink alike.
    """
    if not 0 <= share < 0.5:
        raise InputError(f"The held-out share is at least 0 and below 0.5, got {share}.")
    if seed < 0:
        raise InputError(f"A seed is 0 or more, got {seed}.")
    order = np.random.default_rng(seed).permutation(len(rows))
    heads, relations, tails = (column[order] for column in _codes(rows))
    free = np.ones(len(rows), dtype=bool)
    free[_firsts(heads, tails)] = False
    free[_firsts(relations)] = False
    held = np.flatnonzero(free)
    wanted = min(round(share * len(rows)), len(held) // 2)
    free[held[2 * wanted :]] = False
    chosen = (order[~free], order[held[:wanted]], order[held[wanted : 2 * wanted]])
    parts = {split: rows[places] for split, places in zip(SPLITS, chosen, strict=True)}
    return {split: part for split, part in parts.items() if len(part)}


def _firsts(*columns: NameCodes) -> Ids:
    """The rows in which each code stands first, in whichever of the columns."""
    count = len(columns[0])
    first = np.full(1 + max(int(column.max(initial=0)) for column in columns), count)
    for column in columns:
        backwards = np.full(len(first), count)
        backwards[column[::-1]] = np.arange(count)[::-1]  # the last to be written stays
        np.minimum(first, backwards, out=first)
    found: Ids = first[first < count]
    return found


def _codes(rows: pl.DataFrame) -> tuple[NameCodes, ...]:
    """The three columns as numbers, the same for the same name (of texts, for this call)."""
    if rows["head"].dtype == pl.String:
        rows = rows.select(pl.col(role).cast(dtype) for role, dtype in codes_of_names().items())
    return tuple(rows[role].to_physical().to_numpy() for role in ROLES)


def _numbered(columns: Sequence[pl.Series]) -> tuple[pl.Series, Ids]:
    """The names of coded columns in sorted order, and the place of each code among them."""
    there = pl.concat([column.unique() for column in columns]).unique()
    names = there.cast(pl.String)
    order = names.arg_sort()
    codes = there.to_physical().gather(order).to_numpy()
    places = np.full(1 + int(codes.max(initial=0)), -1)
    places[codes] = np.arange(len(codes))
    return names.gather(order), places


def _ids(frame: pl.DataFrame, numbers: Sequence[Ids]) -> Ids:
    """Coded rows as ids (n, 3), which a graph takes as they are."""
    ids = np.empty((len(frame), 3), dtype=np.int64)
    for place, (codes, number) in enumerate(zip(_codes(frame), numbers, strict=True)):
        np.take(number, codes, out=ids[:, place])
    ids.flags.writeable = False
    return ids


def _held_out_notes(ids: Mapping[str, Ids], num_entities: int, num_relations: int) -> list[str]:
    """What a reader of the metrics should know of valid and test."""
    train = ids["train"]
    new_entity, new_relation = np.ones(num_entities, bool), np.ones(num_relations, bool)
    new_entity[train[:, 0]] = new_entity[train[:, 2]] = new_relation[train[:, 1]] = False
    notes = []
    for split in ("valid", "test"):
        triples = ids.get(split)
        if triples is None:
            continue
        held = TripleSet(triples)
        starts = range(0, len(train), PART)
        if leaked := sum(int(held.holds(train[i : i + PART]).sum()) for i in starts):
            notes.append(f"{split}: {_count(leaked, 'triple')} also in train (kept)")
        ends, kinds = triples[:, [0, 2]], triples[:, 1]
        lacking, foreign = new_entity[ends], new_relation[kinds]
        touched = lacking.any(axis=1) | foreign
        if touched.any():
            what = " and ".join(
                _count(len(np.unique(missing)), noun)
                for missing, noun in ((ends[lacking], "entity"), (kinds[foreign], "relation"))
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

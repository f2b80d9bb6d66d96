"""Doubts: signs that a file does not mean what it was read as."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from hale.data.sources.layout import ROLES

# Rows from which numbers of values alone say something.
ENOUGH = 50


def header_doubt(rows: pl.DataFrame, first: int) -> str | None:
    """What speaks for the first row, a triple as it was read, being a header.

    None of its words occurs again, relations do repeat, and no other row is as lonely as that.
    ``first`` is the place that a header would have.
    """
    if len(rows) < 3 or rows["place"][0] != first:
        return None
    head, relation, tail = rows.select(ROLES).row(0)
    if head == tail or _times(rows["relation"], relation) > 1:
        return None
    ends = (rows["head"], rows["tail"])
    if any(sum(_times(column, name) for column in ends) > 1 for name in (head, tail)):
        return None
    relations = rows["relation"]
    if relations.n_unique() == len(rows):  # nothing repeats, so nothing is odd about the first
        return None
    both = pl.concat([column.to_physical() for column in ends])
    alone = ~both.is_duplicated()
    lonely = alone[: len(rows)] & alone[len(rows) :] & ~relations.is_duplicated()
    if lonely.sum() > 1:
        return None
    return f"{head!r}, {relation!r}, {tail!r}"


def _times(column: pl.Series, name: str) -> int:
    return int(column.alias("name").to_frame().select((pl.col("name") == name).sum()).item())


def column_doubt(rows: pl.DataFrame, titles: Sequence[str]) -> tuple[str, int, int, int] | None:
    """The role that looks like the relation, where the column of relations does not.

    That has half as many values as there are entities, or more, and most of them are entities
    too; or, in a file of some length, another column has less than a quarter as many. Returns the
    role with its number of values, that of the relation column and that of the entities.
    """
    relations = rows["relation"].unique().cast(pl.String)
    ends = {role: rows[role].unique().cast(pl.String) for role in ("head", "tail")}
    entities = pl.concat(list(ends.values())).unique()
    if len(relations) < 2 or 2 * len(relations) < len(entities):
        return None
    few = min(ends, key=lambda role: len(ends[role]))
    shared = int(relations.is_in(entities.implode()).sum())
    apart = int(ends[few].is_in(relations.implode()).sum()) == 0
    swapped = 2 * shared >= len(relations) and len(ends[few]) < len(relations) and apart
    sparse = len(rows) >= ENOUGH and 4 * len(ends[few]) < len(relations)
    if not (swapped or sparse) or len(titles) != len(ROLES):
        return None
    return few, len(ends[few]), len(relations), len(entities)


def doubts(
    rows: pl.DataFrame, source: str, titles: Sequence[str], *, headed: bool, chosen: bool
) -> list[str]:
    """Notes on a file of triples, with what to say if a doubt is right.

    ``titles`` are the columns that were read as head, relation and tail; ``headed`` whether a
    header named them, ``chosen`` whether the user did.
    """
    notes = []
    if not headed and (words := header_doubt(rows, 1)):
        notes.append(
            f"{source}: the first line ({words}) looks like a header: none of its words occurs "
            "again. It was read as a fact; if it is a header, say --header (header=True), and "
            "--columns A,B,C which columns are head, relation and tail"
        )
    if not chosen and (found := column_doubt(rows, titles)):
        role, few, many, entities = found
        by_role = dict(zip(ROLES, titles, strict=True))
        asked = by_role | {"relation": by_role[role], role: by_role["relation"]}
        notes.append(
            f"{source}: the column of relations ({by_role['relation']}) has {many:,} values, with "
            f"{entities:,} entities, and the column {by_role[role]} has {few:,}: that looks like "
            f"the relation; if so, say --columns {','.join(asked[one].strip() for one in ROLES)}"
        )
    return notes

"""Queries: a fact with one place left open, from names, from a file, or all of a relation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from hale.data.graph import Graph
from hale.data.keys import Ids
from hale.data.sources.faults import Fault, Faults
from hale.data.sources.frames import frame_of
from hale.data.sources.layout import QUERIES, ROLES
from hale.data.sources.lookup import Lookup
from hale.data.sources.reader import read_records
from hale.errors import InputError, SourceError, UnknownNameError

Direction = Literal["tail", "head"]

OPEN = -1  # the id that stands for the open place
MARKS = ("?", "")  # what stands for it in a file


class Query(NamedTuple):
    """Two of head, relation and tail; the third, None, is what is asked for."""

    head: str | None = None
    relation: str | None = None
    tail: str | None = None


def query_ids(graph: Graph, query: tuple[str | None, str | None, str | None]) -> list[int]:
    """The ids of a query's head, relation and tail, OPEN where it asks."""
    if sum(name is None for name in query) != 1:
        raise InputError(
            "A query has two of head, relation and tail: a relation and either a head or a tail, "
            "or a head and a tail."
        )
    head, relation, tail = query
    return [
        OPEN if head is None else graph.entity_id(head),
        OPEN if relation is None else graph.relations.id(relation),
        OPEN if tail is None else graph.entity_id(tail),
    ]


def id_parts(graph: Graph, queries: object, size: int) -> Iterator[Ids]:
    """Queries as ids, so many at a time: tuples of names with one None, a frame, or a file."""
    if isinstance(queries, str | Path) or hasattr(queries, "columns"):
        ids = read_queries(queries, graph).queries
        yield from (ids[start : start + size] for start in range(0, len(ids), size))
        return
    if not isinstance(queries, Iterable):
        raise InputError(f"Expected queries, a frame or a path, got {type(queries).__name__}.")
    waiting = iter(queries)
    while part := [query_ids(graph, query) for query in islice(waiting, size)]:
        yield np.array(part, dtype=np.int64)


def queries_of_relation(graph: Graph, relation: str, direction: Direction = "tail") -> Ids:
    """All queries of a relation that the graph gives cause for: (n, 3), by id.

    Those for tails take every head that the relation has in any split, those for
    heads every tail.
    """
    if direction not in ("tail", "head"):
        raise UnknownNameError("direction", direction, ["tail", "head"])
    number = graph.relations.id(relation)
    triples = graph.triples
    given, asked = (0, 2) if direction == "tail" else (2, 0)
    entities = np.unique(triples[triples[:, 1] == number, given])
    queries = np.full((len(entities), 3), number, dtype=np.int64)
    queries[:, given], queries[:, asked] = entities, OPEN
    return queries


@dataclass(frozen=True)
class QueryFile:
    """The queries of a file as ids (n, 3), and what is wrong with its other lines."""

    queries: Ids
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_queries(source: object, graph: Graph, *, skip_bad: bool = False) -> QueryFile:
    """Queries from a file or table: head, relation, tail, one of them '?' or empty.

    Whatever ``read_records`` reads. Lines that are not queries of this graph are told in one
    error, or with ``skip_bad`` left out and told in ``faults``.
    """
    if hasattr(source, "columns"):  # in a frame, what is open is null
        frame = frame_of(source, "the queries")
        source = frame.with_columns(pl.col(pl.String).fill_null(MARKS[0]))
    found = read_records(source, QUERIES, what="the queries")
    rows = found.rows
    ids, unknown = Lookup(graph).triples(rows, open_marks=MARKS)
    num_open = rows.select(pl.sum_horizontal(pl.col(ROLES).is_in(MARKS))).to_series()
    wrong = {
        place: f"Exactly one place is open ('?' or empty), here {count} are."
        for place, count in zip(rows["place"], num_open, strict=True)
        if count != 1
    }
    for fault in unknown:
        wrong.setdefault(fault.place, fault.what)
    faults = Faults(Fault(place, what) for place, what in wrong.items())
    found.refuse(faults, skip_bad=skip_bad)
    good = ~np.isin(rows["place"].to_numpy(), list(wrong))
    if not good.any():
        raise SourceError("holds no query that can be asked", source=found.source)
    return QueryFile(ids[good], (found.faults + faults).told(found.unit), found.notes)

"""Queries: a fact with one place left open, from names, from a file, or all of a relation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from hale.data.graph import Graph, Ids
from hale.data.sources.lookup import KINDS, Lookup, read_rows
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


def read_queries(path: str | Path, graph: Graph, *, skip_bad: bool = False) -> QueryFile:
    """Queries from a file: head, relation, tail, one of them '?' or empty.

    Tab-separated text, comma-separated (.csv) or Parquet (.parquet), also packed.
    A first line of the usual words (head, relation, tail and the like) is a
    header. Lines that are not queries of this graph are all named in one error,
    or with ``skip_bad`` left out and told in ``faults``.
    """
    file = read_rows(path)
    lookup = Lookup(graph)
    queries: list[list[int]] = []
    faults: list[str] = []
    for number, fields in file.rows:
        ids, wrong = _read(fields, lookup, file.columns)
        if wrong:
            faults.append(f"{file.unit} {number}: {' '.join(wrong)}")
        else:
            queries.append(ids)
    if faults and not skip_bad:
        what = "not a query of this graph"
        raise file.refuse(faults, f"is {what}", f"are {what}")
    if not queries:
        raise SourceError("holds no query that can be asked", source=file.source)
    return QueryFile(np.array(queries, dtype=np.int64), tuple(faults))


def _read(fields: list[str], lookup: Lookup, columns: str) -> tuple[list[int], list[str]]:
    """The ids of a row's three fields, and what is wrong with it."""
    if len(fields) != 3:
        return [], [f"Expected 3 {columns}, found {len(fields)}."]
    is_open = [field in MARKS for field in fields]
    if sum(is_open) != 1:
        return [], [f"Exactly one place is open ('?' or empty), here {sum(is_open)} are."]
    found = [
        OPEN if asked else lookup.find(kind, field)
        for kind, field, asked in zip(KINDS, fields, is_open, strict=True)
    ]
    ids = [one for one in found if isinstance(one, int)]
    return ids, [one for one in found if isinstance(one, str)]

"""Queries: a fact with one place left open, from names, from a file, or all of a relation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from hale.errors import InputError, SourceError, UnknownNameError
from hale.graph import SPLITS, Graph, Ids
from hale.sources.columns import header_roles
from hale.sources.compression import read_bytes
from hale.sources.text import decoded

Direction = Literal["tail", "head"]

OPEN = -1  # the id that stands for the open place
MARKS = ("?", "")  # what stands for it in a file

# Looking for names alike takes a moment each, so only the first unknown ones get it.
MOST_SUGGESTIONS = 10


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
    triples = np.concatenate([graph.split(split) for split in SPLITS])
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
    """Queries from a tab-separated file: head, relation, tail, one of them '?' or empty.

    A first line of the usual words (head, relation, tail and the like) is a
    header. Lines that are not queries of this graph are all named in one error,
    or with ``skip_bad`` left out and told in ``faults``.
    """
    source = str(path)
    lines = decoded(read_bytes(Path(path)), source).rstrip("\n").split("\n")
    reader = _Reader(graph)
    queries: list[list[int]] = []
    faults: list[str] = []
    for number, line in enumerate(lines, start=1):
        fields = [field.strip() for field in line.split("\t")]
        if number == 1 and header_roles(fields) == ("head", "relation", "tail"):
            continue
        ids, wrong = reader.read(fields)
        if wrong:
            faults.append(f"line {number}: {' '.join(wrong)}")
        else:
            queries.append(ids)
    if faults and not skip_bad:
        count = "1 line is" if len(faults) == 1 else f"{len(faults):,} lines are"
        listed = "".join(f"\n  {fault}" for fault in faults)
        raise SourceError(
            f"{count} not a query of this graph:{listed}\n"
            "Mend them, or leave them out with --skip-bad (skip_bad=True).",
            source=source,
        )
    if not queries:
        raise SourceError("holds no query that can be asked", source=source)
    return QueryFile(np.array(queries, dtype=np.int64), tuple(faults))


class _Reader:
    """Fields of a line -> ids or faults; the nearest names for the first unknown ones."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.told: dict[tuple[str, str], str] = {}

    def read(self, fields: list[str]) -> tuple[list[int], list[str]]:
        if len(fields) != 3:
            return [], [f"Expected 3 columns separated by tabs, found {len(fields)}."]
        is_open = [field in MARKS for field in fields]
        if sum(is_open) != 1:
            return [], [f"Exactly one place is open ('?' or empty), here {sum(is_open)} are."]
        ids: list[int] = []
        faults = []
        for place, (field, asked) in enumerate(zip(fields, is_open, strict=True)):
            kind = "relation" if place == 1 else "entity"
            if asked:
                ids.append(OPEN)
            elif kind == "relation" and field in self.graph.relations:
                ids.append(self.graph.relations.id(field))
            elif kind == "entity" and len(self.graph.bearers(field)) == 1:
                ids.append(self.graph.entity_id(field))
            else:
                faults.append(self._fault(kind, field))
        return ids, faults

    def _fault(self, kind: str, name: str) -> str:
        """What asking for the name alone would say, without suggestions after the first few."""
        if (kind, name) not in self.told:
            ambiguous = kind == "entity" and self.graph.bearers(name)
            if ambiguous or len(self.told) < MOST_SUGGESTIONS:
                try:
                    (self.graph.relations.id if kind == "relation" else self.graph.entity_id)(name)
                except InputError as error:
                    self.told[kind, name] = str(error)
            else:
                self.told[kind, name] = f"Unknown {kind} {name!r}."
        return self.told[kind, name]

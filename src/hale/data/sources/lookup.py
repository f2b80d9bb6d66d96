"""Lookup: what names mean in a graph."""

from __future__ import annotations

import numpy as np
import polars as pl

from hale.data.graph import Graph
from hale.data.keys import Ids
from hale.data.sources.faults import Fault
from hale.data.sources.layout import ROLES
from hale.errors import InputError

# Looking for names alike takes a while on a large graph: done for the first unknown ones only.
MOST_SUGGESTIONS = 10

KINDS = ("entity", "relation", "entity")  # of a triple's places


class Lookup:
    """Names -> ids, or what is wrong with a name; the nearest ones for the first unknown only."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.told: dict[tuple[str, str], str] = {}
        self.suggested = 0

    def triples(
        self, rows: pl.DataFrame, *, open_marks: tuple[str, ...] = ()
    ) -> tuple[Ids, tuple[Fault, ...]]:
        """The ids (n, 3) of rows of names with their ``place``, and the faults of unknown ones.

        What is unknown, and what stands open (one of ``open_marks``), is -1.
        """
        graph = self.graph
        ids = np.empty((len(rows), 3), dtype=np.int64)
        faults: dict[int, list[str]] = {}
        for column, (role, kind) in enumerate(zip(ROLES, KINDS, strict=True)):
            names = rows[role].to_list()
            vocabulary = graph.relations if kind == "relation" else graph.entities
            ids[:, column] = vocabulary.ids(names)
            for row in np.flatnonzero(ids[:, column] < 0).tolist():
                if names[row] in open_marks:
                    continue
                found = self.find(kind, names[row])
                if isinstance(found, int):
                    ids[row, column] = found
                else:
                    faults.setdefault(row, []).append(found)
        places = rows["place"]
        return ids, tuple(Fault(places[row], " ".join(what)) for row, what in faults.items())

    def find(self, kind: str, name: str) -> int | str:
        """The id of an entity, by its name or its label, or of a relation; else the fault."""
        told = self.told.get((kind, name))
        if told is not None:
            return told
        graph = self.graph
        exists = name in graph.relations if kind == "relation" else bool(graph.bearers(name))
        if not exists and self.suggested >= MOST_SUGGESTIONS:
            return f"Unknown {kind} {name!r}."
        try:
            return graph.relations.id(name) if kind == "relation" else graph.entity_id(name)
        except InputError as error:  # no such name, or a label of several entities
            self.suggested += not exists
            self.told[kind, name] = str(error)
            return str(error)

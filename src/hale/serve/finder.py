"""Finder: the entities that a typed text may mean."""

from __future__ import annotations

from hale.data.find import matches_of, names_of
from hale.data.graph import Graph
from hale.errors import InputError


class Finder:
    """Search in the names and labels of a graph's entities, ranked as by ``hale find``."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def find(self, text: str, k: int) -> list[int]:
        """The ids of the k entities that the text is likeliest to mean."""
        if not text.strip():
            raise InputError("Nothing to search for: give a part of a name or label.")
        entities = next(named for named in names_of(self.graph) if named.kind == "entity")
        return [number for _, number in matches_of(entities, text, k)][:k]

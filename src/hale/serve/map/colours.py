"""Colours: one for every entity, by what is asked for, and a legend.

Colours are numbers into the page's own palette: 0 for none, 1 to 12 for kinds, 13 to 20 for steps
from few to many.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph, Ids
from hale.errors import UnknownNameError
from hale.serve.map.map_file import Layout

KINDS, FIRST_STEP, STEPS = 12, 13, 8

# Relations whose value is what a thing is, by the last word of their names.
TYPE = re.compile(
    r"(^|[/#:._\s])"
    r"(types?|instance[ _]of|instance_hypernym|is[ _]?a|P31|class|category|section)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Painting:
    """A colour of each entity (N,), and what the colours mean."""

    colours: NDArray[np.uint8]
    entries: tuple[tuple[int, str], ...]
    note: str = ""

    def legend(self) -> dict[str, Any]:
        """Ready for JSON."""
        entries = [{"colour": colour, "text": text} for colour, text in self.entries]
        return {"entries": entries, "note": self.note}


def ways(graph: Graph) -> list[tuple[str, str]]:
    """What entities can be coloured by: value and text."""
    named = [(f"relation:{name}", name) for name in graph.relations.names]
    typed = []
    if graph.types is not None:
        typed = [("type", "type")]
    elif relation := type_relation(graph):
        typed = [("type", f"type ({relation})")]
    return [("cluster", "cluster"), ("degree", "degree"), *typed, *named]


def paint(graph: Graph, layout: Layout, by: str) -> Painting:
    """The colours by 'cluster', 'degree', 'type' or 'relation:NAME'."""
    if by == "cluster":
        return _by_cluster(layout)
    if by == "degree":
        return _by_degree(graph)
    if by == "type" and graph.types is not None:
        types = graph.types
        names = types.names.column.to_list()
        return _by_kind(types.entities, types.types, names, len(graph.entities), "no type")
    relation = type_relation(graph) if by == "type" else None
    if by.startswith("relation:"):
        relation = by.removeprefix("relation:")
    if relation is None:
        raise UnknownNameError("way to colour", by, [value for value, _ in ways(graph)])
    return _by_value(graph, relation)


def type_relation(graph: Graph) -> str | None:
    """The relation whose value is an entity's type: of those so named, the one with most facts."""
    counts = np.bincount(graph.train[:, 1], minlength=len(graph.relations))
    named = [i for i, name in enumerate(graph.relations.names) if TYPE.search(name)]
    return graph.relations[max(named, key=lambda i: counts[i])] if named else None


def degrees(graph: Graph) -> Ids:
    """How many facts of all splits each entity is in: (N,); one with itself counts once."""
    total = np.zeros(len(graph.entities), dtype=np.int64)
    for split in (graph.train, graph.valid, graph.test):
        total += np.bincount(split[:, 0], minlength=len(total))
        apart = split[split[:, 0] != split[:, 2], 2]
        total += np.bincount(apart, minlength=len(total))
    return total


def _by_cluster(layout: Layout) -> Painting:
    colours = np.where(layout.cluster < 0, 0, 1 + layout.cluster % KINDS).astype(np.uint8)
    entries = [
        (1 + number, f"{cluster.name} ({cluster.size:,})")
        for number, cluster in enumerate(layout.clusters[:KINDS])
    ]
    more = len(layout.clusters) - len(entries)
    note = f"and {more} smaller ones, in the same colours again" if more > 0 else ""
    return Painting(colours, tuple(entries), note)


def _by_degree(graph: Graph) -> Painting:
    """By powers of two of the number of facts: 1, 2 to 3, 4 to 7, ..., 128 and more."""
    degree = degrees(graph)
    step = np.minimum(np.log2(np.maximum(degree, 1)).astype(np.int64), STEPS - 1)
    colours = np.where(degree == 0, 0, FIRST_STEP + step).astype(np.uint8)
    last = 2 ** (STEPS - 1)
    texts = ["1 fact", *(f"{2**i} to {2 ** (i + 1) - 1}" for i in range(1, STEPS - 1))]
    texts.append(f"{last} and more")
    return Painting(colours, tuple((FIRST_STEP + i, text) for i, text in enumerate(texts)))


def _by_value(graph: Graph, relation: str) -> Painting:
    """By the tail of an entity's fact of a relation."""
    facts = graph.train[graph.train[:, 1] == graph.relations.id(relation)]
    tails, kinds = np.unique(facts[:, 2], return_inverse=True)
    names = [graph.label(name) or name for name in graph.entities.column.gather(tails)]
    return _by_kind(facts[:, 0], kinds, names, len(graph.entities), f"no {relation}")


def _by_kind(entities: Ids, kinds: Ids, names: list[str], count: int, none: str) -> Painting:
    """By pairs of entity and kind, (n,) and (n,): the most frequent kinds each in a colour.

    An entity of several kinds has the colour of the most frequent of them.
    """
    counts = np.bincount(kinds, minlength=len(names))
    most = np.argsort(-counts, kind="stable")[: KINDS - 1]
    colour_of = np.full(len(names), KINDS, dtype=np.uint8)  # other kinds
    colour_of[most] = np.arange(1, len(most) + 1)
    colours = np.zeros(count, dtype=np.uint8)
    # the rarest first, and of equals the last one, so that what comes first has the last word
    order = np.lexsort((-kinds, counts[kinds]))
    colours[entities[order]] = colour_of[kinds[order]]
    entries = [
        (number, f"{names[kind]} ({counts[kind]:,})")
        for number, kind in enumerate(most.tolist(), start=1)
    ]
    if (colours == KINDS).any():
        entries.append((KINDS, "another value"))
    return Painting(colours, (*entries, (0, none)))

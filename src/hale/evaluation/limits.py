"""Limits: what a person says of who may answer -> candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from hale.data.graph import Graph, Ids
from hale.data.lines import read_lines
from hale.data.sources.faults import Fault, Faults
from hale.data.sources.lookup import Lookup
from hale.data.types import Types
from hale.errors import InputError, SourceError
from hale.evaluation.candidates import Candidates, common


class Among(TypedDict, total=False):
    """Entities to which answers are limited; with several of these, to those in all of them.

    ``types`` names types, of which an entity has one or another. They are those of the graph, or
    those that a ``type_relation`` gives: its tails are the types of its heads. ``within`` names
    entities, or a file of them, one a line.
    """

    types: str | Sequence[str] | None
    type_relation: str | None
    within: Iterable[str] | str | Path | None


class Limits(Among, total=False):
    """The same, and whether ``anything`` may answer, not only what was seen on that side."""

    anything: bool


def candidates_of(graph: Graph, *, anything: bool = False, **among: Unpack[Among]) -> Candidates:
    """The candidates of a graph under some limits."""
    return Candidates(graph, anything=anything, among=entities_among(graph, **among))


def entities_among(
    graph: Graph,
    *,
    types: str | Sequence[str] | None = None,
    type_relation: str | None = None,
    within: Iterable[str] | str | Path | None = None,
) -> Ids | None:
    """The entities that answers are limited to, ascending; None without a limit."""
    found: list[Ids] = []
    if types is not None:
        known = types_of(graph, type_relation)
        wanted = [types] if isinstance(types, str) else list(types)
        found.append(known.members(np.array([known.names.id(name) for name in wanted])))
    elif type_relation is not None:
        raise InputError("A relation of types (--type-relation) goes with a type (--type).")
    if within is not None:
        found.append(np.unique(_named(graph, within)))
    if not found:
        return None
    among = found[0] if len(found) == 1 else common(*found)
    if not len(among):
        raise InputError("No entity is of that type and within that set; leave one of them out.")
    return among


def refuse_nobody(graph: Graph, candidates: Candidates, relations: Iterable[int]) -> None:
    """An error if limits leave nobody to answer queries of any of some relations below 2R."""
    asked = list(relations)
    if candidates.among is None or not asked:
        return
    for relation in asked:
        who = candidates.of(relation)
        if who is None or len(who):
            return
    name = graph.relations[asked[0] % len(graph.relations)]
    side = "tail" if asked[0] < len(graph.relations) else "head"
    others = f" (or of {len(asked) - 1} others)" if len(asked) > 1 else ""
    raise InputError(
        f"None of the {len(candidates.among):,} entities of that type or set was seen as a {side} "
        f"of {name!r}{others}, or is like those that were, so nobody is left to answer. Choose "
        "others, or let anything answer (--anything, anything=True)."
    )


def types_of(graph: Graph, relation: str | None = None) -> Types:
    """The types that a relation gives, or those of the graph."""
    if relation is not None:
        return graph.types_by(relation)
    if graph.types is None:
        raise InputError(
            f"The graph {graph.name!r} has no types. Name a relation whose tails are the types of "
            "its heads (--type-relation, type_relation), or train with a types.tsv of entity and "
            "type in the graph's folder."
        )
    return graph.types


def _named(graph: Graph, within: Iterable[str] | str | Path) -> Ids:
    """The ids of entities by name or label, or of those that a file names, one a line."""
    source, unit = "within", "row"
    if isinstance(within, str | Path):
        source, unit = str(within), "line"
        names = [name.strip() for name in _lines(Path(within))]
    else:
        names = list(within)
    places = [place for place, name in enumerate(names) if name]
    if not places:
        raise SourceError("names no entity", source=source)
    ids = graph.entities.ids([names[place] for place in places])
    lookup, faults = Lookup(graph), []
    for number in np.flatnonzero(ids < 0).tolist():
        place = places[number]
        found = lookup.find("entity", names[place])
        if isinstance(found, int):
            ids[number] = found
        else:
            faults.append(Fault(place + 1, found))
    if faults:
        texts = "".join(f"\n  - {text}" for text in Faults(faults).told(unit))
        raise SourceError(f"names entities that the graph lacks:{texts}", source=source)
    return ids


def _lines(path: Path) -> list[str]:
    try:
        return read_lines(path).to_list()
    except FileNotFoundError:
        raise SourceError("there is no such file", source=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        what = "is not UTF-8 text" if isinstance(error, ValueError) else error.strerror
        raise SourceError(f"cannot be read: {what}", source=str(path)) from None

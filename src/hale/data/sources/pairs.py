"""Pairs of entities of two graphs, from a file or table: which of the one is which of the other."""

from __future__ import annotations

import numpy as np

from hale.data.graph import Graph
from hale.data.keys import Ids
from hale.data.sources.faults import Fault, Faults
from hale.data.sources.layout import PAIRS
from hale.data.sources.lookup import Lookup
from hale.data.sources.reader import read_records
from hale.errors import SourceError


def read_pairs(source: object, left: Graph, right: Graph, *, skip_bad: bool = False) -> Ids:
    """Pairs of names, of the left graph and of the right one, as ids (n, 2); each pair once.

    An entity is one of the other graph's, not several: whoever stands in two pairs is a fault, as
    is an unknown name. All faults are told in one error, or with ``skip_bad`` left out.
    """
    found = read_records(source, PAIRS, what="the pairs")
    rows = found.rows.unique(["left", "right"], keep="first", maintain_order=True)
    places = rows["place"].to_list()
    faults: dict[int, str] = {}
    columns = []
    for role, graph in (("left", left), ("right", right)):
        lookup, names = Lookup(graph), rows[role].to_list()
        ids = graph.entities.ids(names)
        for row in np.flatnonzero(ids < 0).tolist():
            known = lookup.find("entity", names[row])
            if isinstance(known, int):
                ids[row] = known
            else:
                faults.setdefault(places[row], known)
        columns.append(ids)
    pairs = np.stack(columns, axis=1)
    for role, column, graph in (("left", 0, left), ("right", 1, right)):
        first = np.full(len(rows), fill_value=True)
        first[np.unique(pairs[:, column], return_index=True)[1]] = False
        for row in np.flatnonzero(first & (pairs[:, column] >= 0)).tolist():
            name = graph.entities[int(pairs[row, column])]
            faults.setdefault(places[row], f"The {role} {name!r} stands in another pair already.")
    wrong = Faults([Fault(place, what) for place, what in sorted(faults.items())])
    found.refuse(wrong, skip_bad=skip_bad)
    good = pairs[~np.isin(places, list(faults))]
    if not len(good):
        raise SourceError("holds no pairs of the two graphs", source=found.source)
    return good

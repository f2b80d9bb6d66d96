"""Rows of names: how a file is read, and what a name means."""

from __future__ import annotations

import polars as pl
import pytest

from hale.data.graph import Graph
from hale.data.sources.lookup import MOST_SUGGESTIONS, Lookup
from tests.line_run import line_run


@pytest.fixture
def graph() -> Graph:
    return line_run().graph


def test_rows_of_names(graph: Graph) -> None:
    rows = pl.DataFrame(
        {
            "place": [3, 5, 9],
            "head": ["p0", "?", "pp"],
            "relation": ["next", "twice", "nxt"],
            "tail": ["one", "p2", "p3"],
        }
    )
    ids, faults = Lookup(graph).triples(rows, open_marks=("?",))
    assert ids[:2].tolist() == [[0, 0, 1], [-1, 1, 2]]
    (fault,) = faults
    assert fault.place == 9
    assert "Unknown entity 'pp'." in fault.what
    assert "Unknown relation 'nxt'. Did you mean 'next'?" in fault.what


def test_names_labels_and_faults(graph: Graph) -> None:
    lookup = Lookup(graph)
    assert lookup.find("entity", "p1") == lookup.find("entity", "one") == 1
    assert lookup.find("relation", "twice") == 1
    assert str(lookup.find("entity", "P1")).startswith("Unknown entity 'P1'. Did you mean 'p1'")
    faults = [str(lookup.find("relation", f"nex{i}")) for i in range(20)]
    assert all(fault.startswith(f"Unknown relation 'nex{i}'.") for i, fault in enumerate(faults))
    assert sum("Did you mean" in fault for fault in faults) == MOST_SUGGESTIONS - 1
    assert "Did you mean" in str(lookup.find("relation", "nex0")), "told again as before"

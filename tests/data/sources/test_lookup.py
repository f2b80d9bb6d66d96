"""Rows of names: how a file is read, and what a name means."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hale.data.graph import Graph
from hale.data.sources.lookup import MOST_SUGGESTIONS, Lookup, read_rows
from hale.errors import SourceError
from tests.line_run import line_run


@pytest.fixture
def graph() -> Graph:
    return line_run().graph


def test_rows_keep_the_numbers_of_their_lines(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("h\tr\tt\n a \tb\tc\n\nd\te\n")
    found = read_rows(tmp_path / "a.tsv")
    assert found.rows == [(2, ["a", "b", "c"]), (3, [""]), (4, ["d", "e"])]
    assert (found.unit, found.columns) == ("line", "columns separated by tabs")
    (tmp_path / "a.csv").write_text('a,"b\nb",c\nd,e,f\n')
    assert read_rows(tmp_path / "a.csv").rows == [(1, ["a", "b\nb", "c"]), (3, ["d", "e", "f"])]


def test_the_order_of_a_header_counts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("subject,object,predicate,label\na,c,b,1\nd,e\n")
    assert read_rows(tmp_path / "a.csv").rows == [(2, ["a", "b", "c", "1"]), (3, ["d", "e"])]
    columns = {"tail": ["c", None], "head": ["a", "d"], "relation": ["b", "e"]}
    pl.DataFrame(columns).write_parquet(tmp_path / "b.parquet")
    assert read_rows(tmp_path / "b.parquet").rows == [(1, ["a", "b", "c"]), (2, ["d", "e", ""])]


def test_columns_that_are_not_names(tmp_path: Path) -> None:
    pl.DataFrame({"head": [["a"]], "relation": ["b"], "tail": ["c"]}).write_parquet(
        tmp_path / "a.parquet"
    )
    with pytest.raises(SourceError, match="columns that are not names"):
        read_rows(tmp_path / "a.parquet")


def test_an_error_names_all_rows_at_fault(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\n")
    file = read_rows(tmp_path / "a.tsv")
    for faults, told in ((["line 1: no"], "1 line is bad:"), (["x", "y"], "2 lines are bad:")):
        error = file.refuse(faults, "is bad", "are bad")
        assert isinstance(error, SourceError)
        lines = str(error).splitlines()
        assert lines[0] == f"{tmp_path / 'a.tsv'}: {told}"
        assert lines[1:-1] == [f"  {fault}" for fault in faults]


def test_names_labels_and_faults(graph: Graph) -> None:
    lookup = Lookup(graph)
    assert lookup.find("entity", "p1") == lookup.find("entity", "one") == 1
    assert lookup.find("relation", "twice") == 1
    assert str(lookup.find("entity", "P1")).startswith("Unknown entity 'P1'. Did you mean 'p1'")
    faults = [str(lookup.find("relation", f"nex{i}")) for i in range(20)]
    assert all(fault.startswith(f"Unknown relation 'nex{i}'.") for i, fault in enumerate(faults))
    assert sum("Did you mean" in fault for fault in faults) == MOST_SUGGESTIONS - 1
    assert "Did you mean" in str(lookup.find("relation", "nex0")), "told again as before"

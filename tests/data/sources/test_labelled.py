from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hale.data.graph import Graph
from hale.data.sources.labelled import read_labelled, triples_of
from hale.data.sources.lookup import MOST_SUGGESTIONS
from hale.errors import InputError, SourceError
from tests.line_run import line_run


@pytest.fixture
def graph() -> Graph:
    return line_run().graph


def test_tabs_commas_parquet_and_packed(graph: Graph, tmp_path: Path) -> None:
    tabs = "p0\tnext\tp1\none\ttwice\ttwo words\n"
    (tmp_path / "a.tsv").write_text(tabs)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(f"head\trelation\ttail\n{tabs}".encode()))
    (tmp_path / "c.csv").write_text('subject,predicate,object\np0,next,p1\none,twice,"two words"\n')
    rows = {"head": ["p0", "p1"], "relation": ["next", "twice"], "tail": ["p1", "p2"]}
    pl.DataFrame(rows).write_parquet(tmp_path / "d.parquet")
    for file in sorted(tmp_path.iterdir()):
        found = read_labelled(file, graph)
        assert found.triples.tolist() == [[0, 0, 1], [1, 1, 2]], file
        assert found.labels is None
        assert found.faults == ()


def test_labels(graph: Graph, tmp_path: Path) -> None:
    words = ["1", "true", "YES", "+", "0", "False", "no", "-1"]
    (tmp_path / "a.tsv").write_text("".join(f"p0\tnext\tp1\t{word}\n" for word in words))
    found = read_labelled(tmp_path / "a.tsv", graph)
    assert found.labels is not None
    assert found.labels.tolist() == [True] * 4 + [False] * 4


BAD = "p0\tnext\tp1\np0\tnext\nP3\tnxt\tp1\np0\tnext\tp1\t1\n\np4\tnext\tp5\n"


def test_all_bad_lines_in_one_error(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(BAD)
    with pytest.raises(SourceError) as caught:
        read_labelled(tmp_path / "a.tsv", graph)
    lines = str(caught.value).split("\n")
    assert lines[0].endswith(
        "a.tsv: 4 bad lines; mend them, or leave them out with --skip-bad (skip_bad=True):"
    )
    assert lines[1] == "  - line 2: expected 3 columns separated by tabs, found 2: 'p0\\tnext'"
    assert lines[2].startswith("  - line 3: Unknown entity 'P3'. Did you mean 'p3'")
    assert "Unknown relation 'nxt'. Did you mean 'next'?" in lines[2]
    assert lines[3].startswith("  - line 4: expected 3 columns separated by tabs, found 4")
    assert lines[4] == "  - line 5: is blank"


@pytest.mark.parametrize("label", ["nan", "inf", "-inf", "1e400"])
def test_a_label_that_is_no_number_is_told_by_its_line(
    graph: Graph, tmp_path: Path, label: str
) -> None:
    (tmp_path / "a.tsv").write_text(f"p0\tnext\tp1\t1\np1\tnext\tp2\t{label}\n")
    with pytest.raises(SourceError, match=rf"line 2: A label is 1 or 0, .* got '{label}'"):
        read_labelled(tmp_path / "a.tsv", graph)


def test_a_header_with_the_label_anywhere(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("label,subject,object,predicate\n0,p0,p1,next\n1,p1,p2,next\n")
    found = read_labelled(tmp_path / "a.csv", graph)
    assert found.triples.tolist() == [[0, 0, 1], [1, 0, 2]]
    assert found.labels is not None
    assert found.labels.tolist() == [False, True]


def test_commas_in_a_txt_file(graph: Graph, tmp_path: Path) -> None:
    """As it trains, so it is judged."""
    (tmp_path / "a.txt").write_text("p0,next,p1\n")
    assert read_labelled(tmp_path / "a.txt", graph).triples.tolist() == [[0, 0, 1]]


def test_bad_lines_left_out(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(BAD)
    found = read_labelled(tmp_path / "a.tsv", graph, skip_bad=True)
    assert found.triples.tolist() == [[0, 0, 1], [4, 0, 5]]
    assert [fault.split(":")[0] for fault in found.faults] == [f"line {i}" for i in (2, 3, 4, 5)]
    (tmp_path / "a.tsv").write_text("p0\tnext\n")
    with pytest.raises(SourceError, match="no triples that can be judged"):
        read_labelled(tmp_path / "a.tsv", graph, skip_bad=True)


def test_a_label_that_is_none(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("p0\tnext\tp1\t1\np0\tnext\tp1\tmaybe\n")
    with pytest.raises(SourceError, match=r"line 2: A label is 1 or 0.*'maybe'"):
        read_labelled(tmp_path / "a.tsv", graph)


def test_many_unknown_names_are_counted(graph: Graph, tmp_path: Path) -> None:
    """Names alike are looked for a few times only; labels still count as names."""
    rows = [f"q{i}\tnext\tp1\n" for i in range(30)]
    (tmp_path / "a.tsv").write_text("".join(rows) + "one\tnext\ttwo words\n")
    found = read_labelled(tmp_path / "a.tsv", graph, skip_bad=True)
    assert found.triples.tolist() == [[1, 0, 2]]
    assert len(found.faults) == 21
    assert sum("Did you mean" in fault for fault in found.faults) <= MOST_SUGGESTIONS
    assert found.faults[-2:] == ("line 20: Unknown entity 'q19'.", "and 10 more")


def test_files_that_cannot_be_read(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("not this")
    (tmp_path / "b.csv").write_text('p0,next,"p1\n')
    for name, message in (
        ("a.parquet", "not a readable Parquet"),
        ("b.csv", "comma-separated"),
        ("none.tsv", "no such file"),
    ):
        with pytest.raises(SourceError, match=message):
            read_labelled(tmp_path / name, graph)


def test_triples_from_python(graph: Graph) -> None:
    assert triples_of([("p0", "next", "p1")], graph).tolist() == [[0, 0, 1]]
    assert triples_of(np.array([[0, 0, 1]], dtype=np.int32), graph).dtype == np.int64
    assert triples_of([], graph).shape == (0, 3)
    with pytest.raises(InputError, match="row 2: Unknown entity 'P2'. Did you mean 'p2'"):
        triples_of([("p0", "next", "p1"), ("p0", "next", "P2")], graph)
    for wrong in (np.array([[0, 2, 1]]), np.array([[0, 0, -1]]), np.array([0, 0, 1])):
        with pytest.raises(InputError, match="2 relations"):
            triples_of(wrong, graph)


def test_a_fourth_column_is_the_label_whatever_it_is_called(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("head,relation,tail,is_true\np0,next,p1,yes\n")
    found = read_labelled(tmp_path / "a.csv", graph)
    assert found.labels is not None
    assert found.labels.tolist() == [True]
    (tmp_path / "a.csv").write_text("head,relation,tail,x,y\np0,next,p1,yes,2\n")
    found = read_labelled(tmp_path / "a.csv", graph)
    assert found.labels is None
    assert found.notes[-1].endswith("left out the columns 'x', 'y'")

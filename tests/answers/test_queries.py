"""Queries from names, from files, and all of a relation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hale.answers.queries import OPEN, Query, queries_of_relation, query_ids, read_queries
from hale.data.graph import Graph, Vocabulary
from hale.errors import InputError, SourceError, UnknownNameError


def test_names_to_ids(graph: Graph) -> None:
    assert query_ids(graph, Query(head="e003", relation="skip")) == [3, 1, OPEN]
    assert query_ids(graph, Query(relation="next", tail="the first")) == [OPEN, 0, 0]
    assert query_ids(graph, ("e001", None, "e002")) == [1, OPEN, 2]
    with pytest.raises(InputError, match="two of head, relation and tail"):
        query_ids(graph, Query(head="e001"))


def test_all_queries_of_a_relation(graph: Graph) -> None:
    every = np.concatenate([graph.train, graph.valid, graph.test]).tolist()
    heads = sorted({h for h, r, _ in every if r == 1})
    tails = sorted({t for _, r, t in every if r == 1})
    assert queries_of_relation(graph, "skip").tolist() == [[h, 1, OPEN] for h in heads]
    assert queries_of_relation(graph, "skip", "head").tolist() == [[OPEN, 1, t] for t in tails]
    with pytest.raises(UnknownNameError, match="Did you mean 'head'"):
        queries_of_relation(graph, "skip", "heat")  # type: ignore[arg-type]


def test_heads_and_tails_that_a_relation_lacks_are_not_asked() -> None:
    graph = Graph(
        "few",
        Vocabulary(["a", "b", "c", "d"], "entity"),
        Vocabulary(["r", "s"], "relation"),
        train=np.array([[2, 0, 1], [2, 0, 3], [1, 1, 0]]),
        valid=np.empty((0, 3)),
        test=np.array([[0, 0, 1]]),
    )
    assert queries_of_relation(graph, "r").tolist() == [[0, 0, OPEN], [2, 0, OPEN]]
    assert queries_of_relation(graph, "r", "head").tolist() == [[OPEN, 0, 1], [OPEN, 0, 3]]


def test_a_file(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "queries.tsv"
    path.write_text("head\trelation\ttail\ne003\tskip\t?\n\tnext\t e004 \r\nthe first\t?\te002\n")
    found = read_queries(path, graph)
    assert found.queries.tolist() == [[3, 1, OPEN], [OPEN, 0, 4], [0, OPEN, 2]]
    assert found.faults == ()


def test_commas_and_parquet(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('e003,skip,?\n"the first",,e002\n')
    rows = {"head": ["e003", "the first"], "relation": ["skip", None], "tail": ["?", "e002"]}
    pl.DataFrame(rows).write_parquet(tmp_path / "b.parquet")
    for file in sorted(tmp_path.iterdir()):
        assert read_queries(file, graph).queries.tolist() == [[3, 1, OPEN], [0, OPEN, 2]], file


BAD = "e003\tskip\t?\ne003 skip ?\n?\tskp\te00x\ne003\t?\t?\n\ntwin\tskip\t?\ne1\tskip\te2\n"


def test_all_bad_lines_are_told_at_once(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "queries.tsv"
    path.write_text(BAD)
    with pytest.raises(SourceError) as caught:
        read_queries(path, graph)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"{path}: 6 bad lines; mend them, or leave them out with --skip-bad")
    assert lines[1] == "  - line 2: expected 3 columns separated by tabs, found 1: 'e003 skip ?'"
    assert lines[2].startswith("  - line 3: Unknown relation 'skp'. Did you mean 'skip'")
    assert "Unknown entity 'e00x'. Did you mean 'e0" in lines[2]
    assert lines[3] == "  - line 4: Exactly one place is open ('?' or empty), here 2 are."
    assert lines[4] == "  - line 5: is blank"
    assert lines[5].startswith("  - line 6: 2 entities are labelled 'twin': e001, e002.")
    assert lines[6].startswith("  - line 7: Exactly one place is open")


def test_bad_lines_may_be_skipped(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "queries.tsv"
    path.write_text(BAD)
    found = read_queries(path, graph, skip_bad=True)
    assert found.queries.tolist() == [[3, 1, OPEN]]
    assert [fault.split(":")[0] for fault in found.faults] == [f"line {n}" for n in range(2, 8)]
    path.write_text("nothing\n")
    with pytest.raises(SourceError, match="no query that can be asked"):
        read_queries(path, graph, skip_bad=True)


def test_many_unknown_names_are_counted(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "queries.tsv"
    path.write_text("".join(f"e00{n}x\tnext\t?\n" for n in range(30)))
    with pytest.raises(SourceError) as caught:
        read_queries(path, graph)
    lines = str(caught.value).splitlines()[1:]
    assert [line.split(" Did you")[0] for line in lines] == [
        *(f"  - line {n + 1}: Unknown entity 'e00{n}x'." for n in range(20)),
        "  - and 10 more",
    ]
    assert "Did you mean" in lines[0]


def test_no_such_file(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no such file"):
        read_queries(tmp_path / "none.tsv", graph)

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hale.data.sources import graph_from_tables
from hale.errors import InputError, SourceError

TRIPLES = [("a", "r", "b"), ("b", "r", "c"), ("c", "s", "a")]


@pytest.mark.parametrize(
    "table",
    [
        TRIPLES,
        np.array(TRIPLES),
        np.array(TRIPLES, dtype=object),
        pl.DataFrame(TRIPLES, schema=["head", "relation", "tail"], orient="row"),
        pl.DataFrame(TRIPLES, schema=["x", "y", "z"], orient="row"),
        pd.DataFrame(TRIPLES, columns=["head", "relation", "tail"]),
        pd.DataFrame([(t, h, r) for h, r, t in TRIPLES], columns=["object", "subject", "p"]),
    ],
    ids=["list", "array", "objects", "polars", "polars-plain", "pandas", "pandas-named"],
)
def test_every_kind_of_table(table: object) -> None:
    graph = graph_from_tables(table, holdout=0)
    assert graph.entities.names == ("a", "b", "c")
    assert graph.train.tolist() == [[0, 0, 1], [1, 0, 2], [2, 1, 0]]


def test_numbers_become_names() -> None:
    graph = graph_from_tables(np.array([[10, 0, 9], [9, 1, 10]]), holdout=0)
    assert graph.entities.names == ("10", "9")
    assert graph.relations.names == ("0", "1")


def test_given_splits_and_labels() -> None:
    graph = graph_from_tables(TRIPLES, [("a", "r", "c")], [("a", "s", "c")], labels={"a": "Anna"})
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (3, 1, 1)
    assert graph.label("a") == "Anna"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((3, 2)), r"expected shape \(n, 3\)"),
        (pl.DataFrame({"a": ["x"], "b": ["y"]}), "expected 3 columns"),
        ([("a", "r", None)], "row 1: the tail is empty"),
        (pd.DataFrame([("a", "r", "b"), ("a", float("nan"), "b")]), "row 2: the relation is empty"),
        (np.empty((0, 3)), "holds no triples"),
        (pd.DataFrame([("a", pd.NA, "b")]), "row 1: the relation is empty"),
        ([("a\tx", "r", "b")], "row 1: the head holds a tab"),
    ],
)
def test_faults(table: object, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        graph_from_tables(table)


def test_pandas_with_repeated_column_names() -> None:
    table = pd.DataFrame(TRIPLES, columns=["x", "x", "x"])
    assert len(graph_from_tables(table, holdout=0).train) == 3


def test_repeats_are_counted() -> None:
    graph = graph_from_tables([*TRIPLES, TRIPLES[0]])
    assert graph.notes == ("the table: 1 repeated triple dropped",)


def test_column_order() -> None:
    swapped = [(h, t, r) for h, r, t in TRIPLES]
    graph = graph_from_tables(swapped, columns="htr", holdout=0)
    assert graph.train.tolist() == [[0, 0, 1], [1, 0, 2], [2, 1, 0]]
    with pytest.raises(InputError, match="each once"):
        graph_from_tables(swapped, columns="xyz")


def test_what_is_no_table() -> None:
    with pytest.raises(InputError, match="a polars or pandas frame or an .* array, got dict"):
        graph_from_tables({"a": 1})
    with pytest.raises(SourceError, match="lone surrogate"):
        graph_from_tables([("\ud800", "r", "b")])
    for rows in ([("a", "r", "b"), 7], ["arb", "brc"]):
        with pytest.raises(SourceError, match="each a sequence of names"):
            graph_from_tables(rows)


def test_columns_that_are_not_names() -> None:
    frame = pl.DataFrame({"head": [["a"]], "relation": ["b"], "tail": ["c"]})
    with pytest.raises(SourceError, match="columns that are not names"):
        graph_from_tables(frame)

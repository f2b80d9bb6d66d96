from __future__ import annotations

import numpy as np
import pytest

from hale.data.graph import Graph, Vocabulary
from hale.evaluation.calibration.cardinality import KINDS, Cardinality, kind_of


def graph_of(train: list[list[int]]) -> Graph:
    nothing = np.empty((0, 3), dtype=np.int64)
    return Graph(
        "counts",
        Vocabulary([f"e{i}" for i in range(1 + max(max(h, t) for h, _, t in train))], "entity"),
        Vocabulary(["r"], "relation"),
        train=np.array(train),
        valid=nothing,
        test=nothing,
    )


def test_kinds_of_counts() -> None:
    counts = np.array([0, 1, 2, 3, 4, 5, 8, 9, 16, 10**9])
    assert kind_of(counts).tolist() == [0, 1, 2, 3, 3, 4, 4, 5, 5, KINDS - 1]


def test_odds_by_hand() -> None:
    """Heads 0 to 3 have 1, 1, 2 and 3 tails: 7 facts, 4 queries.

    With one hidden, k is 0 for 2 facts, 1 for 2, 2 for 3; with none, 1 for 2 queries, 2 and 3 for
    one each. One more of each kind is supposed.
    """
    tails = {0: [4], 1: [4], 2: [4, 5], 3: [4, 5, 6]}
    found = Cardinality(graph_of([[h, 0, t] for h, ts in tails.items() for t in ts]))
    assert found.mean.tolist() == [7 / 4, 7 / 3]
    hidden, complete = 7 + KINDS, 4 + KINDS
    expected = [
        0,
        np.log(3 / hidden) - np.log(3 / complete),
        np.log(4 / hidden) - np.log(2 / complete),
        np.log(1 / hidden) - np.log(2 / complete),
    ]
    np.testing.assert_allclose(found.odds(np.zeros(4, int), np.arange(4)), expected)


def test_a_second_value_is_unlikely_where_there_is_one() -> None:
    one = Cardinality(graph_of([[i, 0, 200 + i % 3] for i in range(100)]))
    assert one.functional.tolist() == [True, False]
    assert one.odds(np.array([0]), np.array([1]))[0] < -3


@pytest.mark.parametrize(("queries", "functional"), [(48, True), (47, False)])
def test_few_queries_do_not_make_a_relation_functional(queries: int, functional: bool) -> None:
    found = Cardinality(graph_of([[i, 0, 100] for i in range(queries)]))
    assert bool(found.functional[0]) is functional

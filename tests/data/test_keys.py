from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hale.data.graph import Graph
from hale.data.keys import SplitIndex, TripleSet, pair_keys, pairs_of, places_in
from hale.errors import InputError


def test_every_triple_against_plain_sets(graph: Graph) -> None:
    sets = [set(map(tuple, graph.split(name).tolist())) for name in ("train", "valid", "test")]
    size = graph.size
    every = [
        (head, relation, tail)
        for head in range(size.num_entities)
        for relation in range(size.num_relations)
        for tail in range(size.num_entities)
    ]
    codes = graph.split_index.codes(np.array(every))
    expected = [next((i for i, held in enumerate(sets) if t in held), -1) for t in every]
    assert codes.tolist() == expected
    assert set(expected) == {-1, 0, 1, 2}


def test_the_first_split_counts() -> None:
    one, other = np.array([[0, 0, 1]]), np.array([[1, 0, 0], [0, 0, 1]])
    index = SplitIndex([one, other])
    assert index.codes(np.array([[0, 0, 1], [1, 0, 0], [1, 0, 1]])).tolist() == [0, 1, -1]


def test_no_triples_at_all() -> None:
    index = SplitIndex([np.empty((0, 3), dtype=np.int64)])
    assert index.codes(np.array([[0, 0, 1]])).tolist() == [-1]


def test_what_lies_outside_is_not_held() -> None:
    held = TripleSet(np.array([[1, 0, 1], [3, 1, 0]]))
    asked = np.array(
        [[1, 0, 1], [3, 1, 0], [-1, 0, 1], [1, -1, 1], [1, 0, -1], [4, 0, 1], [1, 2, 1]]
    )
    assert held.holds(asked).tolist() == [True, True, *[False] * 5]
    # (1, 0, 2) would have the key of the next query's first tail
    assert not held.holds(np.array([[1, 0, 2]])).any()


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=30), st.integers(0, 50))
def test_a_set_against_pythons_own(rows: list[tuple[int, int, int]], seed: int) -> None:
    held = TripleSet(np.array(rows, dtype=np.int64).reshape(-1, 3))
    asked = np.random.default_rng(seed).integers(-1, 5, (40, 3))
    expected = [rows.index(row) if row in rows else -1 for row in map(tuple, asked.tolist())]
    assert held.first(asked).tolist() == expected


def test_ten_million_entities_and_a_hundred_thousand_relations() -> None:
    """There head * R * N passes 2^63, and keys of that kind would wrap around and meet."""
    big, many = 10**7 - 1, 10**5 - 1
    triples = np.array([[big, many, big], [big, many, 0], [0, 0, big], [big - 1, many, big]])
    held = TripleSet(triples[:3])
    assert held.holds(triples).tolist() == [True, True, True, False]


def test_keys_that_do_not_fit_are_refused() -> None:
    ids = np.array([0, 1])
    with pytest.raises(InputError, match="64 bits"):
        pair_keys(ids, ids, (2**32, 2**31))
    keys = pair_keys(np.array([2**31]), np.array([5]), (2**32, 2**30))
    assert keys.tolist() == [2**61 + 5]
    assert [part.tolist() for part in pairs_of(keys, 2**30)] == [[2**31], [5]]


def test_places() -> None:
    assert places_in(np.array([2, 4, 9]), np.array([9, 3, 2, 10])).tolist() == [2, -1, 0, -1]
    assert places_in(np.array([], dtype=np.int64), np.array([1])).tolist() == [-1]

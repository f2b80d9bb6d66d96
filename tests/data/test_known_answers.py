"""Known answers: one index or several side by side, against plain sets."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hale.data import known_answers
from hale.data.graph import Graph, KnownAnswers, Vocabulary
from hale.data.keys import Ids
from hale.errors import UnknownNameError

Facts = list[tuple[int, int, int]]

facts_ = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 4)), max_size=20)
EVERY = np.array([(head, relation) for head in range(6) for relation in range(4)])


def array(facts: Facts) -> Ids:
    return np.array(facts, dtype=np.int64).reshape(-1, 3)


def plain(facts: Facts) -> list[tuple[int, int]]:
    """The pairs (row, entity) of EVERY query, by going through all facts."""
    both = {*facts, *((tail, relation + 2, head) for head, relation, tail in facts)}
    return [
        (row, answer)
        for row, query in enumerate(EVERY.tolist())
        for answer in sorted(t for h, r, t in both if [h, r] == query)
    ]


def pairs(known: KnownAnswers) -> list[tuple[int, int]]:
    rows, answers = known.of(EVERY[:, 0], EVERY[:, 1])
    assert rows.dtype == answers.dtype == np.int64
    return list(zip(rows.tolist(), answers.tolist(), strict=True))


def shares(facts: Facts) -> tuple[list[bool], list[bool]]:
    """Which relations run both ways and which may loop, by counting."""
    two_way, loops = [], []
    for relation in (0, 1):
        own = {(h, t) for h, r, t in facts if r == relation}
        turned = sum((t, h) in own for h, t in own)
        two_way.append(bool(own) and 2 * turned >= len(own))
        loops.append(100 * sum(h == t for h, t in own) >= len(own))
    return two_way * 2, loops * 2


@given(facts_, facts_, facts_, st.sampled_from([1, 3, 1 << 20]))
def test_indexes_side_by_side(one: Facts, two: Facts, three: Facts, part: int) -> None:
    """A fact that several hold counts once, wherever facts are cut into parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_answers, "PART", part)
        first = KnownAnswers.both_ways([array(one)], 2)
        for known, facts in (
            (first, one),
            (
                KnownAnswers.both_ways([array(two), array(three)], 2, beside=first),
                one + two + three,
            ),
            (KnownAnswers.both_ways([array(two), array(three)], 2), two + three),
        ):
            expected = plain(facts)
            assert pairs(known) == expected
            assert len(known) == len(expected)
            rows = [row for row, _ in expected]
            counts = known.counts(EVERY[:, 0], EVERY[:, 1])
            assert counts.tolist() == [rows.count(row) for row in range(len(EVERY))]
            assert (known.two_way.tolist(), known.loops.tolist()) == shares(facts)


@given(facts_)
def test_numbers_that_do_not_fit_are_sorted_otherwise(facts: Facts) -> None:
    expected = KnownAnswers.both_ways([array(facts)], 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_answers, "LIMIT", 1)
        assert pairs(KnownAnswers.both_ways([array(facts)], 2)) == pairs(expected) == plain(facts)


def test_large_ids() -> None:
    """There a query and an answer as one number would pass 2^63."""
    big = 10**9
    known = KnownAnswers.both_ways([np.array([[big, 9, big - 1], [0, 0, big]])], 10)
    heads, relations = np.array([big, big - 1, big, 0]), np.array([9, 19, 10, 0])
    rows, answers = known.of(heads, relations)
    assert rows.tolist() == [0, 1, 2, 3]
    assert answers.tolist() == [big - 1, big, 0, big]


@given(facts_)
def test_membership(facts: Facts) -> None:
    index = known_answers.index_of([array(facts)], 2)
    every = np.array([(h, r, t) for h in range(6) for r in range(2) for t in range(6)])
    found = index.holds(every[:, 0] * 4 + every[:, 1], every[:, 2])
    assert found.tolist() == [tuple(triple) in facts for triple in every.tolist()]


def test_the_answers_within_some_entities() -> None:
    """Of (0, 0, 1), (1, 0, 2), (2, 1, 0) both ways, with 2R = 4: queries whose answer is 1 or 2."""
    facts = array([(0, 0, 1), (1, 0, 2), (2, 1, 0)])
    index = known_answers.index_of([facts], 2, turned=True, within=range(1, 3))
    answers = {int(key): index.of(np.array([key]))[1].tolist() for key in index.keys}
    # (0, r0) -> 1, (0, r1 turned = 3) -> 2, (1, r0) -> 2, (2, r0 turned = 2) -> 1
    assert answers == {0: [1], 3: [2], 4: [2], 10: [1]}


def test_all_splits_share_the_index_of_train(graph: Graph) -> None:
    train, everything = graph.known("train"), graph.known()
    assert everything._parts[0] is train._parts[0] is graph.known("train")._parts[0]
    assert len(everything) == 2 * len(set(map(tuple, graph.triples.tolist())))
    assert len(graph.known("valid")) == 2 * len(graph.valid)
    with pytest.raises(UnknownNameError, match="Did you mean 'test'"):
        graph.known("tests")  # type: ignore[arg-type]


def test_memory_of_an_index() -> None:
    """Of n facts in both directions at most 8 + 4 bytes a query and 4 an answer stay."""
    count = 200_000
    draws = np.random.default_rng(0)
    triples = np.stack([draws.integers(0, size, count) for size in (50_000, 5, 50_000)], axis=1)
    triples.flags.writeable = False
    names = (Vocabulary([f"{i:05}" for i in range(50_000)], "entity"), Vocabulary("abcde", "r"))
    tracemalloc.start()
    graph = Graph("g", *names, train=triples, valid=triples[:9], test=triples[:0])
    graph.known("train")
    held, peak = tracemalloc.get_traced_memory()
    graph.known()
    more = tracemalloc.get_traced_memory()[0] - held
    tracemalloc.stop()
    assert graph.train is triples
    assert held < 2 * count * 16 + 100_000
    assert peak < 2 * count * 40 + 40 * known_answers.PART
    assert more < 100_000


def test_which_facts_it_holds_in_one_index_or_several() -> None:
    one = KnownAnswers.both_ways([array([(0, 0, 1)])], 2)
    both = KnownAnswers.both_ways([array([(3, 1, 2)])], 2, beside=one)
    heads, relations = np.array([0, 0, 1, 2, 3]), np.array([0, 0, 2, 3, 1])
    answers = np.array([1, 2, 0, 3, 2])
    assert one.holds(heads, relations, answers).tolist() == [True, False, True, False, False]
    assert both.holds(heads, relations, answers).tolist() == [True, False, True, True, True]

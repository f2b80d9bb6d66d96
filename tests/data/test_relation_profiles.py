"""What train says of relations: counts and deltas worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hale.data.graph import Graph, Vocabulary
from hale.data.relation_profiles import RelationProfiles

# Three people are born in two towns, of eight entities; knowing is mutual, and 7 knows itself.
BORN = [[0, 0, 4], [1, 0, 4], [2, 0, 5]]
KNOWS = [[0, 1, 1], [1, 1, 0], [7, 1, 7]]


def graph_of(train: list[list[int]], valid: list[list[int]] | None = None) -> Graph:
    return Graph(
        "toy",
        Vocabulary([f"e{i}" for i in range(8)], "entity"),
        Vocabulary(["born in", "knows"], "relation"),
        train=np.array(train),
        valid=np.array(valid or []).reshape(-1, 3).astype(np.int64),
        test=np.empty((0, 3), dtype=np.int64),
    )


def test_deltas_by_hand() -> None:
    """Asked for the born, nobody is taken twice: p = 1/5 with one case supposed, o = 4/10.

    Asked for towns, two of three facts have one that is taken: p = 3/5, o = 3/10, no delta.
    Knowing has six directed facts, each with another tail: p = 1/5, o = 4/10 both ways.
    """
    found = graph_of(BORN + KNOWS).profiles
    assert found.taken.tolist() == pytest.approx([3 / 5, 1 / 5, 1 / 5, 1 / 5])
    assert found.seen.tolist() == pytest.approx([3 / 10, 4 / 10, 4 / 10, 4 / 10])
    delta = math.log(0.8 / 0.6) - math.log(0.2 / 0.4)
    assert found.deltas.tolist() == pytest.approx([0.0, delta, delta, delta])


def test_a_profile_in_words() -> None:
    born, knows = (graph_of(BORN + KNOWS).profiles.of(number) for number in (0, 1))
    assert (born.facts, born.heads, born.tails) == (3, 3, 2)
    assert (born.tail_delta, born.head_delta > 0.9) == (0.0, True)
    assert (born.symmetric, born.loops) == (False, False)
    assert (knows.symmetric, knows.loops) == (True, True)


def test_functional_takes_enough_facts() -> None:
    """A head has one tail each; from 48 queries on one supposed exception is too few to doubt."""
    for count, functional in ((47, False), (48, True)):
        triples = np.array([[i, 0, i % 5] for i in range(count)])
        graph = Graph(
            "many",
            Vocabulary([f"e{i}" for i in range(60)], "entity"),
            Vocabulary(["r"], "relation"),
            train=triples,
            valid=triples[:0],
            test=triples[:0],
        )
        told = graph.profiles.of(0)
        assert (told.functional, told.inverse_functional) == (functional, False)


def test_few_facts_say_nothing() -> None:
    """With n facts of distinct tails delta is above 0 only if 1/(n+2) < (n+1)/(N+2)."""
    for count, tells in ((1, False), (2, True)):
        train = np.array([[i, 0, 4 + i] for i in range(count)])
        found = graph_of(train.tolist()).profiles
        assert bool(found.deltas[0] > 0) is tells


def test_held_out_facts_change_nothing() -> None:
    alone, beside = graph_of(BORN), graph_of(BORN, valid=[[3, 0, 4], [0, 0, 5]])
    one, other = alone.profiles, beside.profiles
    assert one.deltas.tolist() == other.deltas.tolist()
    assert [one.of(0), one.of(1)] == [other.of(0), other.of(1)]
    assert isinstance(one, RelationProfiles)

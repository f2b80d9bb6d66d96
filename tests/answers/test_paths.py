"""Rules by paths of train, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

import hale.answers.paths as module
from hale.answers.paths import count_rule, in_words, path_rules
from hale.data.graph import Graph, Vocabulary


@pytest.fixture
def family() -> Graph:
    """Of three mothers two have a husband who is the father of the child, the third has another.

    Entities: mothers 0 to 2, children 3 to 5, husbands 6 to 8; 9 is the father of 5.
    """
    names = ["m0", "m1", "m2", "c0", "c1", "c2", "h0", "h1", "h2", "f"]
    mother, married, father = 0, 1, 2
    train = [[i, mother, i + 3] for i in range(3)] + [[i, married, i + 6] for i in range(3)]
    train += [[6, father, 3], [9, father, 5]]
    return Graph(
        "family",
        Vocabulary(names, "entity"),
        Vocabulary(["mother of", "married to", "father of"], "relation"),
        train=np.array(train),
        valid=np.array([[7, father, 4]]),
        test=np.empty((0, 3), dtype=np.int64),
    )


def test_a_rule_is_counted_in_train_without_the_fact(family: Graph) -> None:
    """father of (x, y) <- married to^-1, mother of joins three pairs, of which one holds.

    The fact in question is no case of it, nor is what valid holds.
    """
    steps = (1 + 3, 0)
    assert count_rule(family, steps, 2) == (3, 1)
    assert count_rule(family, steps, 2, without=(7, 4)) == (2, 1)
    assert count_rule(family, steps, 2, without=(6, 3)) == (2, 0)


def test_the_rules_of_a_fact(family: Graph) -> None:
    (rule,) = path_rules(family, (7, 2, 4))
    assert rule.relations == ("married to^-1", "mother of")
    assert rule.through == ("m1",)
    assert (rule.cases, rule.facts, rule.confidence) == (2, 1, 0.5)
    assert in_words(rule, "h1", "c1") == (
        "h1 -married to^-1-> m1 -mother of-> c1: holds in 50% of 2 cases"
    )


def test_no_path_takes_the_fact_itself_or_an_entity_twice(family: Graph) -> None:
    """(m0, mother of, c0) holds: its one other path goes by the husband, who is the father."""
    assert set(module._paths(family.known("train"), 3, (0, 0, 3))) == {(1, 2)}
    assert path_rules(family, (0, 0, 3)) == [], "no other pair is joined so: nothing tells"


def test_three_steps() -> None:
    """r(x, y) <- s, s, s along a line of ten points: seven cases, of which train holds three."""
    chain = [[i, 0, i + 1] for i in range(9)]
    graph = Graph(
        "line",
        Vocabulary([f"p{i}" for i in range(10)], "entity"),
        Vocabulary(["s", "r"], "relation"),
        train=np.array([*chain, [0, 1, 3], [1, 1, 4], [2, 1, 5]]),
        valid=np.empty((0, 3), dtype=np.int64),
        test=np.empty((0, 3), dtype=np.int64),
    )
    best = path_rules(graph, (5, 1, 8))[0]
    assert (best.relations, best.through) == (("s", "s", "s"), ("p6", "p7"))
    assert (best.cases, best.facts) == (6, 3)


def test_few_heads_where_paths_are_many(family: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENDS", 1)
    cases, _ = count_rule(family, (1 + 3, 0), 2)
    assert cases == 1
    monkeypatch.setattr(module, "ENDS", 0)
    assert count_rule(family, (1 + 3, 0), 2) == (0, 0)

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hale.data.graph import Graph, KnownAnswers, Vocabulary
from hale.errors import InputError, UnknownNameError


def test_both_directions_by_hand(graph: Graph) -> None:
    both = graph.both_directions(np.array([[3, 1, 5], [0, 0, 1]]))
    assert both.tolist() == [[3, 1, 5], [0, 0, 1], [5, 3, 3], [1, 2, 0]]


def test_known_answers_by_hand() -> None:
    triples = np.array([[0, 0, 2], [0, 0, 1], [0, 0, 2], [5, 1, 3]])
    known = KnownAnswers(triples, num_relations=1)
    rows, answers = known.of(np.array([5, 7, 0]), np.array([1, 0, 0]))
    assert list(zip(rows.tolist(), answers.tolist(), strict=True)) == [(0, 3), (2, 1), (2, 2)]


def test_known_answers_of_nothing() -> None:
    known = KnownAnswers(np.empty((0, 3), dtype=np.int64), num_relations=1)
    rows, answers = known.of(np.array([1]), np.array([0]))
    assert len(rows) == len(answers) == 0


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 5)), min_size=1),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1),
)
def test_known_answers_against_a_plain_search(
    facts: list[tuple[int, int, int]], queries: list[tuple[int, int]]
) -> None:
    names = [str(i) for i in range(6)]
    graph = Graph(
        "g",
        Vocabulary(names, "entity"),
        Vocabulary(["a", "b", "c"], "relation"),
        train=np.array(facts),
        valid=np.empty((0, 3)),
        test=np.empty((0, 3)),
    )
    asked = np.array(queries)
    rows, answers = graph.known("train").of(asked[:, 0], asked[:, 1])
    expected = []
    for row, (head, relation) in enumerate(queries):
        if relation < 3:
            found = {t for h, r, t in facts if (h, r) == (head, relation)}
        else:
            found = {h for h, r, t in facts if (t, r) == (head, relation - 3)}
        expected += [(row, answer) for answer in sorted(found)]
    assert list(zip(rows.tolist(), answers.tolist(), strict=True)) == expected


def test_relations_that_run_both_ways() -> None:
    """Of four relations: all facts turned, half of them, two in five, and none there are."""
    married = [(0, 0, 1), (1, 0, 0)]
    near = [(0, 1, 1), (1, 1, 0), (2, 1, 3), (3, 1, 4)]
    above = [(0, 2, 1), (1, 2, 0), (2, 2, 0), (0, 2, 3), (1, 2, 4)]
    facts = np.array([*married, *near, *above])
    turned = facts[:, [2, 1, 0]] + np.array([0, 4, 0])
    known = KnownAnswers(np.concatenate([facts, turned]), num_relations=4)
    assert known.two_way.tolist() == [True, True, False, False] * 2
    nothing = KnownAnswers(np.empty((0, 3), dtype=np.int64), num_relations=1)
    assert nothing.two_way.tolist() == [False, False]


def test_relations_that_may_join_an_entity_to_itself() -> None:
    """One fact in a hundred is enough, one in 101 is not, and nothing is known of no facts."""
    often = [[0, 0, 0], *([i, 0, i + 1] for i in range(99))]
    seldom = [[0, 1, 0], *([i, 1, i + 1] for i in range(100))]
    never = [[0, 2, 1]]
    facts = np.array([*often, *seldom, *never])
    turned = facts[:, [2, 1, 0]] + np.array([0, 4, 0])
    known = KnownAnswers(np.concatenate([facts, turned]), num_relations=4)
    assert known.loops.tolist() == [True, False, False, True] * 2


def test_graph_is_immutable(graph: Graph) -> None:
    with pytest.raises(ValueError, match="read-only"):
        graph.train[0, 0] = 1
    with pytest.raises(AttributeError):
        graph.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        graph.labels["e000"] = "other"  # type: ignore[index]


def test_ids_outside_the_vocabulary_are_refused() -> None:
    empty = np.empty((0, 3))
    names = Vocabulary(["a", "b"], "entity"), Vocabulary(["r"], "relation")
    with pytest.raises(InputError, match="outside the vocabulary"):
        Graph("g", *names, train=np.array([[0, 1, 0]]), valid=empty, test=empty)


def test_triples_of_another_shape_are_refused(graph: Graph) -> None:
    with pytest.raises(InputError, match=r"have shape \(n, 3\), got \(3, 2\)"):
        Graph("g", graph.entities, graph.relations, np.zeros((3, 2)), graph.valid, graph.test)


def test_entities_by_label(graph: Graph) -> None:
    assert graph.entity_id("e003") == 3
    assert graph.entity_id("the first") == 0
    with pytest.raises(InputError, match="2 entities are labelled 'twin': e001, e002"):
        graph.entity_id("twin")
    with pytest.raises(UnknownNameError, match="Did you mean 'e013'"):
        graph.entity_id("E013")


def test_unknown_split(graph: Graph) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'test'"):
        graph.split("tests")


@pytest.mark.parametrize("bad", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [np.inf, 1.0]])
def test_weights_are_one_positive_number_for_each_training_triple(bad: list[float]) -> None:
    names = Vocabulary(["a", "b"], "entity"), Vocabulary(["r"], "relation")
    triples, none = np.array([[0, 0, 1], [1, 0, 0]]), np.empty((0, 3), dtype=np.int64)
    given = np.array([2.0, 0.5])
    graph = Graph("g", *names, triples, none, none, weights=given.astype(np.float32))
    assert graph.weights is not None
    with pytest.raises(ValueError, match="read-only"):
        graph.weights[0] = 1.0
    with pytest.raises(InputError, match="weight"):
        Graph("g", *names, triples, none, none, weights=np.array(bad, dtype=np.float32))

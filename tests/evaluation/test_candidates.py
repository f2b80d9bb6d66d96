"""Who may answer a query, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hale.data.graph import Graph, Ids, Vocabulary
from hale.evaluation.candidates import Candidates

NOTHING = np.empty((0, 3), dtype=np.int64)

# 'in' leads from 0..11 to the places 12 and 13, from most of them to both; 'near' goes round the
# first twenty, there and back, and joins 3 with itself; of 'rare' there is one fact.
IN = [(person, 0, place) for person in range(12) for place in (12, 13) if person != place - 12]
NEAR = [(i, 1, (i + step) % 20) for i in range(20) for step in (1, 19)] + [(3, 1, 3)]
RARE = [(5, 2, 21)]


def graph_of(train: list[tuple[int, int, int]], valid: Ids = NOTHING) -> Graph:
    return Graph(
        "toy",
        Vocabulary([f"e{i}" for i in range(24)], "entity"),
        Vocabulary(["in", "near", "rare"], "relation"),
        train=np.array(train),
        valid=valid,
        test=NOTHING,
    )


def toy_graph() -> Graph:
    """A held-out fact puts entity 20 into place 22; train has neither on these sides."""
    return graph_of(IN + NEAR + RARE, np.array([(20, 0, 22)]))


@pytest.fixture
def toy() -> Graph:
    return toy_graph()


def told(ids: Ids | None) -> list[int] | None:
    return None if ids is None else ids.tolist()


def test_answers_are_what_train_has_on_that_side(toy: Graph) -> None:
    candidates = Candidates(toy)
    assert told(candidates.of(0)) == [12, 13]
    assert told(candidates.of(3)) == list(range(12)), "of the reciprocal: who is in a place"
    assert told(candidates.of(1)) == told(candidates.of(4)) == list(range(20))


def test_an_open_side_is_told_by_answers_that_occur_once() -> None:
    """Of ten facts one is of a place that occurs once, and all of persons that do."""
    born = [(person, 0, 12) for person in range(9)] + [(9, 0, 13)]
    candidates = Candidates(graph_of(born + NEAR))
    assert [candidates.open(relation) for relation in (0, 3, 2)] == [False, True, True]
    assert told(candidates.of(0)) == [12, 13]
    half = [(9, 0, 20)] + [(person, 0, 14 + person) for person in range(4)]
    assert not Candidates(graph_of(born[:5] + half)).open(0), "five of ten facts"
    assert Candidates(graph_of(born[:4] + half + [(9, 0, 19)])).open(0), "four of ten"


def test_an_open_side_takes_the_kind_of_those_seen() -> None:
    """Each person is in one place, so whoever is asked for is in none: anyone who stands where
    persons do. All ten stand on both sides of 'near', with 10 to 19; none where a place stands,
    and one alone has 'rare', whose answer 21 is no such entity.
    """
    born = [(person, 0, 22 + person % 2) for person in range(10)]
    candidates = Candidates(graph_of(born + NEAR + RARE))
    assert told(candidates.of(3)) == list(range(20))
    assert told(candidates.of(0)) == [22, 23]
    # a tenth is enough: 21 stands with 5 on the given side of 'rare'
    with_rare = Candidates(graph_of(born + NEAR + [(5, 2, 12), (21, 2, 12)]))
    assert told(with_rare.of(3)) == [*range(20), 21]
    eleven = [(10, 0, 22), *born]
    assert told(Candidates(graph_of(eleven + NEAR + [(5, 2, 12), (21, 2, 12)])).of(3)) == list(
        range(20)
    ), "one in eleven is not"


def test_a_relation_with_few_facts_is_open() -> None:
    """Nine facts lead to 12, which stands near others; ten are enough. Of no facts nothing is
    known.
    """
    near = [*NEAR, (22, 1, 23)]
    nine = [(person, 0, 12) for person in range(9)]
    assert told(Candidates(graph_of(nine + near)).of(0)) == [*range(20), 22, 23]
    ten = Candidates(graph_of([*nine, (9, 0, 12), *near]))
    assert told(ten.of(0)) == [12]
    assert ten.of(2) is None


def test_anything_may_answer_and_a_set_narrows(toy: Graph) -> None:
    anything = Candidates(toy, anything=True)
    assert [anything.of(relation) for relation in range(6)] == [None] * 6
    among = np.array([13, 2, 23, 2])
    assert [told(Candidates(toy, among=among).of(r)) for r in (0, 1, 3)] == [[13], [2, 13], [2]]
    assert told(Candidates(toy, among=among, anything=True).of(0)) == [2, 13, 23]
    assert told(Candidates(toy, among=np.array([23])).of(0)) == []
    assert told(Candidates(graph_of(IN), among=among).of(2)) == [2, 13, 23]


def test_who_answers_for_itself(toy: Graph) -> None:
    """One of 41 'near' facts is a loop; of 'rare' and 'in' none is, in either direction."""
    assert Candidates(toy).loops.tolist() == [False, True, False] * 2
    assert Candidates(toy, anything=True).loops.tolist() == [False, True, False] * 2


def test_relations_that_may_join_two_entities() -> None:
    """'in' leads from persons 0 to 9 to the places 20 and 21, which lie 'near' 22; persons are
    'near' each other too. So 22 is of the kind of places, and 12 of that of persons.
    """
    born = [(person, 0, 20 + person % 2) for person in range(10)]
    near = [*NEAR, (20, 1, 22), (21, 1, 22), (22, 1, 20), (22, 1, 21)]
    candidates = Candidates(graph_of(born + near))
    pairs = np.array([(0, 20), (12, 20), (0, 22), (12, 22), (20, 0), (0, 23), (23, 20), (3, 3)])
    assert candidates.join(*pairs.T)[:, 0].tolist() == [
        True,
        True,  # a place that was seen, and a person who was not
        True,  # and the other way round
        False,  # neither was seen
        False,  # nor was 20 in a place, nor 0 a place
        False,  # 23 stands nowhere
        False,
        False,  # no loops
    ]
    few = candidates.join(*pairs.T)[:, 2]
    assert few.all(), "of no facts nothing is known"
    anything = Candidates(graph_of(born + near), anything=True).join(*pairs.T)
    assert anything[:, 0].tolist() == [True] * 7 + [False]

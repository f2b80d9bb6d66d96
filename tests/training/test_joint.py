"""Two graphs as one."""

from __future__ import annotations

import numpy as np

from hale.data.graph import Graph, Vocabulary
from hale.training.joint import joined


def graph(name: str, entities: str, relations: str, facts: list[tuple[int, int, int]]) -> Graph:
    """The last fact is a test fact, the one before a validation fact."""
    ids = np.array(facts)
    return Graph(
        name,
        Vocabulary(list(entities), "entity"),
        Vocabulary(list(relations), "relation"),
        train=ids[:-2],
        valid=ids[-2:-1],
        test=ids[-1:],
    )


LEFT = graph("one", "abc", "pq", [(0, 0, 1), (1, 1, 2), (0, 1, 2), (2, 0, 0)])
RIGHT = graph("two", "xyz", "qr", [(0, 0, 1), (1, 1, 2), (2, 0, 0), (0, 1, 2)])
PAIRS = np.array([[2, 0], [0, 2]])  # c is x, a is z


def test_pairs_share_an_id_and_all_facts_of_both_are_trained_on() -> None:
    joint = joined(LEFT, RIGHT, PAIRS)
    assert joint.left.tolist() == [0, 1, 2]
    assert joint.right.tolist() == [2, 4, 0]  # y alone has a row of its own
    assert list(joint.graph.entities.names) == [
        *("left a", "left b", "left c"),
        *("right x", "right y", "right z"),
    ]
    assert list(joint.graph.relations.names) == ["left p", "left q", "right q", "right r"]
    ours = [(0, 0, 1), (1, 1, 2), (0, 1, 2), (2, 0, 0)]
    theirs = [(2, 2, 4), (4, 3, 0), (0, 2, 2), (2, 3, 0)]
    assert {tuple(fact) for fact in joint.graph.train.tolist()} == {*ours, *theirs}
    assert not len(joint.graph.valid) + len(joint.graph.test)


def test_relations_of_one_name_may_be_one() -> None:
    joint = joined(LEFT, RIGHT, PAIRS, same_relations=True)
    assert list(joint.graph.relations.names) == ["left p", "left q", "right r"]
    theirs = [(2, 1, 4), (4, 2, 0), (0, 1, 2), (2, 2, 0)]
    facts = {tuple(fact) for fact in joint.graph.train.tolist()}
    assert facts >= {*theirs}
    assert len(facts) == 7  # a q c is stated by both

from __future__ import annotations

import numpy as np

from hale.data.graph import Graph
from hale.data.keys import Facts


def test_every_triple_against_plain_sets(graph: Graph) -> None:
    sets = [set(map(tuple, graph.split(name).tolist())) for name in ("train", "valid", "test")]
    size = graph.size
    every = [
        (head, relation, tail)
        for head in range(size.num_entities)
        for relation in range(size.num_relations)
        for tail in range(size.num_entities)
    ]
    codes = graph.facts.split_codes(np.array(every))
    expected = [next((i for i, held in enumerate(sets) if t in held), -1) for t in every]
    assert codes.tolist() == expected
    assert set(expected) == {-1, 0, 1, 2}


def test_the_first_split_counts() -> None:
    one, other = np.array([[0, 0, 1]]), np.array([[1, 0, 0], [0, 0, 1]])
    facts = Facts([one, other], 2, 1)
    assert facts.split_codes(np.array([[0, 0, 1], [1, 0, 0], [1, 0, 1]])).tolist() == [0, 1, -1]


def test_no_facts_at_all() -> None:
    facts = Facts([np.empty((0, 3), dtype=np.int64)], 2, 1)
    assert facts.split_codes(np.array([[0, 0, 1]])).tolist() == [-1]

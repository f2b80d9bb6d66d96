"""Walks against paths found one by one."""

from __future__ import annotations

import numpy as np
import pytest

from hale.data.graph import Graph, Vocabulary
from hale.data.walks import FOLLOWED, Walks


def graph_of(facts: list[tuple[int, int, int]], *, entities: int, relations: int) -> Graph:
    """A graph of such facts, all of them train."""
    none = np.empty((0, 3), dtype=np.int64)
    return Graph(
        name="walked",
        entities=Vocabulary([f"e{number}" for number in range(entities)], "entity"),
        relations=Vocabulary([f"r{number}" for number in range(relations)], "relation"),
        train=np.array(facts, dtype=np.int64).reshape(-1, 3),
        valid=none,
        test=none,
    )


def paths_one_by_one(
    facts: list[tuple[int, int, int]], relations: int, start: int
) -> set[tuple[tuple[int, ...], int]]:
    """The directed relations and ends of simple paths of up to three facts."""
    steps = [(h, r, t) for h, r, t in facts] + [(t, r + relations, h) for h, r, t in facts]
    found: set[tuple[tuple[int, ...], int]] = set()

    def go(visited: list[int], taken: tuple[int, ...]) -> None:
        if taken:
            found.add((taken, visited[-1]))
        if len(taken) == 3:
            return
        for head, relation, tail in steps:
            if head == visited[-1] and tail not in visited:
                go([*visited, tail], (*taken, relation))

    go([start], ())
    return found


@pytest.mark.parametrize("seed", range(5))
def test_all_simple_paths(seed: int) -> None:
    draws = np.random.default_rng(seed)
    facts = sorted({(int(h), int(r), int(t)) for h, r, t in draws.integers(0, (9, 3, 9), (22, 3))})
    walks = Walks(graph_of(facts, entities=9, relations=3))
    asked = np.array([4, 0, 7])
    found = walks.from_entities(asked)
    for row, start in enumerate(asked.tolist()):
        mine = found.rows == row
        pairs = zip(found.codes[mine].tolist(), found.entities[mine].tolist(), strict=True)
        seen = {(walks.steps_of(code), end) for code, end in pairs}
        assert seen == paths_one_by_one(facts, 3, start)


def test_each_end_once() -> None:
    # from 0 to 3 by way of 1 and of 2, with the same relations
    facts = [(0, 0, 1), (0, 0, 2), (1, 1, 3), (2, 1, 3)]
    walks = Walks(graph_of(facts, entities=4, relations=2))
    found = walks.from_entities(np.array([0]))
    twice = [walks.steps_of(code) for code in found.codes[found.entities == 3].tolist()]
    assert twice.count((0, 1)) == 2
    once = walks.once(found)
    told = [walks.steps_of(code) for code in once.codes[once.entities == 3].tolist()]
    assert told.count((0, 1)) == 1
    assert len(set(zip(*(column.tolist() for column in found), strict=True))) == len(once.rows)


def test_a_hub_is_followed_evenly() -> None:
    size = 10 * FOLLOWED[0]
    walks = Walks(graph_of([(0, 0, tail) for tail in range(1, size)], entities=size, relations=1))
    found = walks.from_entities(np.array([0]))
    ends = np.sort(found.entities[found.codes == 1])
    assert len(ends) == FOLLOWED[0]
    gaps = np.diff(ends)
    assert gaps.min() >= 9
    assert gaps.max() <= 10
    again = walks.from_entities(np.array([0]))
    np.testing.assert_array_equal(found.entities, again.entities)


def test_no_room_for_codes() -> None:
    """So many relations that three of them and an end fit no number: shorter paths."""
    few = Walks(graph_of([(0, 0, 1)], entities=2, relations=1))
    many = Walks(graph_of([(0, 0, 1), (1, 1, 2)], entities=3, relations=200_000))
    assert (few.length, many.length) == (3, 2)
    found = many.from_entities(np.array([0]))
    assert {many.steps_of(code) for code in found.codes.tolist()} == {(0,), (0, 1)}


def test_nobody_and_nothing() -> None:
    walks = Walks(graph_of([(0, 0, 1)], entities=3, relations=1))
    assert len(walks.from_entities(np.array([2])).rows) == 0
    assert len(walks.from_entities(np.empty(0, dtype=np.int64)).rows) == 0

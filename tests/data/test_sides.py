"""Who stands on which side of a relation, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hale.data.graph import Graph, Ids, Vocabulary

NOTHING = np.empty((0, 3), dtype=np.int64)
# Persons 0, 1 and 2 live in 3 and 4, and know each other; 5 is known to nobody, and held out.
LIVES = [(0, 0, 3), (1, 0, 3), (2, 0, 4)]
KNOWS = [(0, 1, 1), (1, 1, 2), (6, 1, 0)]


def graph_of(train: list[tuple[int, int, int]]) -> Graph:
    return Graph(
        "toy",
        Vocabulary([f"e{i}" for i in range(8)], "entity"),
        Vocabulary(["lives", "knows", "never"], "relation"),
        train=np.array(train) if train else NOTHING,
        valid=np.array([(5, 0, 7)]),
        test=NOTHING,
    )


def told(ids: Ids | None) -> list[int] | None:
    return None if ids is None else ids.tolist()


def test_both_sides_of_each_relation() -> None:
    sides = graph_of(LIVES + KNOWS).sides
    given = [[0, 1, 2], [0, 1, 6], [], [3, 4], [0, 1, 2], []]
    assert [sides.given(relation).tolist() for relation in range(6)] == given
    assert [sides.answers(relation).tolist() for relation in range(6)] == given[3:] + given[:3]
    assert sides.num_facts.tolist() == [3, 3, 0] * 2


def test_how_many_new_answers_were_seen_before() -> None:
    """Of three facts one leads to 4 alone; all of them have a head of their own."""
    sides = graph_of(LIVES + KNOWS).sides
    assert sides.coverage(0) == pytest.approx(2 / 3)
    assert [sides.coverage(relation) for relation in (1, 2, 3, 5)] == [0, 0, 0, 0]
    several = graph_of([*LIVES, (0, 0, 4)]).sides
    assert several.coverage(3) == pytest.approx(1 / 2), "0 stands with two places"


def test_the_kind_of_a_side() -> None:
    """Who lives somewhere knows and is known: 6 knows somebody. Places stand on one side."""
    sides = graph_of(LIVES + KNOWS).sides
    assert told(sides.kind(3)) == [0, 1, 2, 6]
    assert sides.of_kind(3, np.arange(8)).tolist() == [True] * 3 + [False] * 3 + [True, False]
    assert sides.answer(3, np.arange(8)).tolist() == [True] * 3 + [False] * 5
    assert sides.kind(0) is None, "that they are places tells nothing more"
    assert sides.of_kind(0, np.arange(8)).all()
    assert sides.kind(2) is None, "there are none"


@pytest.mark.parametrize(("persons", "counted"), [(10, True), (11, False)])
def test_a_tenth_makes_a_kind(persons: int, counted: bool) -> None:
    """One of the persons has a brother, whose other owner is 20."""
    graph = Graph(
        "toy",
        Vocabulary([f"e{i}" for i in range(24)], "entity"),
        Vocabulary(["lives", "brother"], "relation"),
        train=np.array([(i, 0, 22) for i in range(persons)] + [(0, 1, 21), (20, 1, 21)]),
        valid=NOTHING,
        test=NOTHING,
    )
    kind = [*range(persons), 20]
    assert told(graph.sides.kind(2)) == (kind if counted else None)
    assert graph.sides.of_kind(2, np.array([20, 19])).tolist() == [True, not counted]


def test_some_of_many_tell_the_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten persons 0, 4 and 8 are looked at, and none of these has a brother."""
    monkeypatch.setattr("hale.data.sides.TELLING", 3)
    facts = [(i, 0, 22) for i in range(10)] + [(i, 2, 7) for i in (4, 6)]
    brothers = [(i, 1, 21) for i in (1, 2, 3, 5, 6, 7, 9, 20)]
    sides = replace(
        graph_of([]),
        entities=Vocabulary([f"e{i}" for i in range(24)], "entity"),
        train=np.array(facts + brothers),
    ).sides
    assert told(sides.kind(3)) == list(range(10))


def test_kinds_are_found_again_after_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hale.data.sides.KEPT", 1)
    sides = graph_of(LIVES + KNOWS).sides
    assert told(sides.kind(3)) == [0, 1, 2, 6]
    assert told(sides.kind(4)) == [0, 1, 2, 6]
    assert told(sides.kind(3)) == [0, 1, 2, 6]
    assert list(sides._kinds) == [3]

"""Path rules by hand: cases, facts, confidence, and what they say of an answer."""

from __future__ import annotations

import numpy as np
import pytest

from hale.data.graph import Graph, Vocabulary
from hale.data.path_rules import PathRules, mine

# family: parent 0, grandparent 1. Three grandchildren by two steps each; one pair is not told.
CHILD, PARENT, GRAND = 0, 3, 6
PARENTS = [(CHILD + n, 0, PARENT + n) for n in range(3)] + [
    (PARENT + n, 0, GRAND) for n in range(3)
]
TOLD = [(CHILD, 1, GRAND), (CHILD + 1, 1, GRAND)]
UNTOLD = (CHILD + 2, 1, GRAND)


def family(*, valid: list[tuple[int, int, int]] | None = None) -> Graph:
    return Graph(
        name="family",
        entities=Vocabulary([f"e{number}" for number in range(7)], "entity"),
        relations=Vocabulary(["parent", "grandparent"], "relation"),
        train=np.array(PARENTS + TOLD, dtype=np.int64),
        valid=np.array(valid or [], dtype=np.int64).reshape(-1, 3),
        test=np.empty((0, 3), dtype=np.int64),
    )


def rule_named(rules: PathRules, relation: int, steps: tuple[int, ...]) -> tuple[int, int] | None:
    """Facts and cases of a rule, None if it is not held."""
    width = rules.width
    for key, facts, cases in zip(rules.keys, rules.facts, rules.cases, strict=True):
        if (
            divmod(int(key), width)[0] == relation
            and rules.walks.steps_of(int(key) % width) == steps
        ):
            return int(facts), int(cases)
    return None


def test_the_path_of_two_parents_is_found() -> None:
    rules = mine(family())
    # two entities have a grandparent in train; from both the path leads to it, and nowhere else
    assert rule_named(rules, 1, (0, 0)) == (2, 2)
    place = np.flatnonzero((rules.facts == 2) & (rules.cases == 2))
    assert rules.confidence[place[0]] == pytest.approx(2 / 7)
    # seen from the grandparent: the parents' children are three, two of them told
    assert rule_named(rules, 1 + 2, (2, 2)) == (2, 3)


def test_a_fact_is_no_reason_for_itself() -> None:
    rules = mine(family())
    for relation in range(4):
        assert rule_named(rules, relation, (relation,)) is None


def test_evidence_is_that_of_the_best_rule() -> None:
    rules = mine(family())
    found = rules.evidence(np.array([UNTOLD[0], GRAND]), np.array([1, 0]))
    mine_of = {
        int(entity): confidence for row, entity, confidence in zip(*found, strict=True) if row == 0
    }
    held = [
        facts / (cases + 5)
        for steps in [(0, 0), (0, 0, 3, 1), (0,)]
        if (counted := rule_named(rules, 1, steps)) is not None
        for facts, cases in [counted]
    ]
    assert mine_of[GRAND] >= max(held)
    assert len(set(zip(found.rows.tolist(), found.entities.tolist(), strict=True))) == len(
        found.rows
    )


def test_only_train_is_read() -> None:
    alone, beside = mine(family()), mine(family(valid=[UNTOLD, (CHILD, 1, PARENT)]))
    for one, other in zip(alone.as_dict().values(), beside.as_dict().values(), strict=True):
        assert one == other


def test_round_trip() -> None:
    graph = family()
    rules = mine(graph)
    back = PathRules.of_dict(graph, rules.as_dict())
    asked = np.arange(7), np.ones(7, dtype=np.int64)
    for one, other in zip(rules.evidence(*asked), back.evidence(*asked), strict=True):
        np.testing.assert_array_equal(one, other)


def test_rules_that_are_none_are_refused() -> None:
    values = mine(family()).as_dict()
    values["facts"] = values["facts"][:-1]
    with pytest.raises(ValueError, match="sorted"):
        PathRules.of_dict(family(), values)


def test_no_rules() -> None:
    graph = family()
    none = PathRules.of_dict(graph, {"keys": [], "facts": [], "cases": []})
    assert len(none) == 0
    assert len(none.evidence(np.array([0]), np.array([1])).rows) == 0
    assert len(none.evidence(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)).rows) == 0

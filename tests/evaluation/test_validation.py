from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hale.errors import EvaluationError
from hale.evaluation.validation import Validation
from hale.models import make_model
from tests.conftest import ring


def triples(rows: np.ndarray) -> list[tuple[int, ...]]:  # type: ignore[type-arg]
    return [tuple(row) for row in rows.tolist()]


def test_the_others_are_not_in_the_sample() -> None:
    graph = ring(60, held_out=12)
    every = set(triples(graph.both_directions(graph.valid)))
    assert len(every) == 24
    found = Validation(graph, 2, seed=3)
    sample, others = triples(found.sample), triples(found.others)
    assert (len(sample), len(others)) == (4, 16)
    assert len({*sample, *others}) == 20
    assert {*sample, *others} < every
    again, other = Validation(graph, 2, seed=3), Validation(graph, 2, seed=4)
    assert triples(again.sample) == sample
    assert triples(again.others) == others
    assert triples(other.sample) != sample
    rest = Validation(graph, 5, seed=3)
    assert {*triples(rest.sample), *triples(rest.others)} == every, "as many as there are"
    whole = Validation(graph, 12, seed=3)
    assert triples(whole.sample) == triples(graph.both_directions(graph.valid))
    assert len(whole.others) == 0


def test_scores_that_are_not_finite_are_seen_without_a_valid_split() -> None:
    graph = ring(12, held_out=2)
    bare = replace(graph, valid=graph.valid[:0])
    model = make_model("transe", graph.size, 4)
    validation = Validation(bare, 5, seed=0)
    assert validation.metrics(model) == {}
    for table in model.parameters():
        table.data.fill_(float("nan"))
    with pytest.raises(EvaluationError):
        validation.metrics(model)

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from hale.data.graph import SPLITS
from hale.errors import EvaluationError
from hale.evaluation.metrics import Metrics
from hale.evaluation.validation import Validation
from hale.models import make_model
from tests.conftest import ring
from tests.evaluation.test_evaluator import Fixed
from tests.line_run import line_run


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
    many = Validation(graph, 11, seed=3)
    assert len(set(triples(many.sample))) == len(many.sample) == 22, "none twice"
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


@pytest.mark.parametrize("split", SPLITS)
def test_a_better_answer_steps_aside_whichever_split_knows_it(split: str) -> None:
    """Entity i sits at i, 'next' adds one: to (0, next, ?) 1 is nearer than the target 3."""
    graph = line_run(5).graph
    splits = {"train": graph.train[-1:], "valid": np.array([[0, 0, 3]]), "test": graph.test[:0]}
    model = line_run(5).model
    # tails: 1 is 0 away, 0 and 2 are 1 away, 3 is 2 away; heads (sits at 2): 2, 1 and 3, then 0
    # and 4 beside each other
    alone = Validation(replace(graph, **splits), 10, seed=0).metrics(model)
    assert alone["mean_rank"] == (4 + 4.5) / 2
    splits[split] = np.concatenate([splits[split], [[0, 0, 1]]])
    found = Validation(replace(graph, **splits), 10, seed=0).metrics(model)
    ranks = [3.0, 4.5]  # 1 steps aside
    if split == "valid":
        ranks += [1.0, 1.0]  # (0, next, 1) in both directions
    assert found == Metrics.of(np.array(ranks)).as_dict()


def test_the_last_state_is_preferred_where_others_rank_it_no_lower() -> None:
    """Entity i sits at i; moved two places on, every second answer is at its rank no more."""
    run = line_run(8, num_valid=6)
    model, graph = run.model, run.graph
    good = {name: value.clone() for name, value in model.state_dict().items()}
    bad = {name: value.clone() for name, value in good.items()}
    bad["shift.weight"] = -bad["shift.weight"]  # every query looks the wrong way
    found = Validation(graph, 2, seed=0)
    assert len(found.others) == 2 * 6
    assert found.prefers_last(model, good, bad) is True
    assert torch.equal(model.state_dict()["shift.weight"], good["shift.weight"])
    assert found.prefers_last(model, bad, good) is False
    assert torch.equal(model.state_dict()["shift.weight"], bad["shift.weight"]), "ends with last"
    assert found.prefers_last(model, good, dict(good)) is True, "no worse"
    nobody = Validation(graph, 8, seed=0)
    assert not len(nobody.others)
    assert nobody.prefers_last(model, good, bad) is False


def test_without_a_valid_split_one_query_is_looked_at() -> None:
    """The first of train: that the second is not finite goes unnoticed."""
    table = torch.zeros(12, 12)
    table[1] = torch.nan
    graph = ring(12, held_out=2)
    train = np.array([[0, 0, 1], [1, 0, 2]])
    bare = replace(graph, train=train, valid=graph.valid[:0])
    assert Validation(bare, 5, seed=0).metrics(Fixed(table)) == {}
    turned = replace(bare, train=train[::-1])
    with pytest.raises(EvaluationError):
        Validation(turned, 5, seed=0).metrics(Fixed(table))

from __future__ import annotations

import itertools
import time
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
    found = Validation(graph, 2)
    sample, others = triples(found.sample), triples(found.others)
    assert (len(sample), len(others)) == (4, 16)
    assert len({*sample, *others}) == 20
    assert {*sample, *others} < every
    again = Validation(graph, 2)
    assert triples(again.sample) == sample
    assert triples(again.others) == others
    rest = Validation(graph, 5)
    assert {*triples(rest.sample), *triples(rest.others)} == every, "as many as there are"
    many = Validation(graph, 11)
    assert len(set(triples(many.sample))) == len(many.sample) == 22, "none twice"
    whole = Validation(graph, 12)
    assert triples(whole.sample) == triples(graph.both_directions(graph.valid))
    assert len(whole.others) == 0


def test_smaller_samples_are_part_of_larger_ones() -> None:
    """By one order, whichever way a sample comes to its size, and others take what follows."""
    graph = ring(60, held_out=12)
    shrinking, before = Validation(graph), set(triples(graph.both_directions(graph.valid)))
    assert (shrinking.size, len(shrinking.others)) == (12, 0), "the whole split"
    for size in (11, 5, 2, 1):
        shrinking.take(size)
        sample = set(triples(shrinking.sample))
        assert (shrinking.size, len(sample)) == (size, 2 * size)
        assert sample < before
        assert sample == set(triples(Validation(graph, size).sample))
        assert not sample & set(triples(shrinking.others))
        assert len(shrinking.others) == 2 * min(4 * size, 12 - size)
        before = sample
    assert before != set(triples(graph.both_directions(graph.valid[:1]))), "drawn"
    shrinking.take(99)
    assert shrinking.size == 12


@pytest.mark.parametrize(("num_valid", "size"), [(4999, 4999), (5000, 2500), (20_000, 2500)])
def test_a_small_split_is_ranked_whole_and_of_a_large_one_a_part(num_valid: int, size: int) -> None:
    graph = ring(12, held_out=2)
    found = Validation(replace(graph, valid=np.zeros((num_valid, 3), dtype=np.int64)))
    assert (found.size, len(found.sample)) == (size, 2 * size)
    assert len(found.others) == 2 * min(4 * 2500, num_valid - size)
    assert Validation(graph, 1).size == 1, "what is asked for"


def test_what_a_second_look_costs_in_samples() -> None:
    """Two states are ranked by up to four times the sample."""
    found = Validation(ring(60, held_out=12))
    assert [found.looks(size) for size in (1, 2, 3, 6, 12)] == [8, 8, 6, 2, 0]


def test_how_long_it_takes_to_rank_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by 2.5 seconds whenever it is read."""
    run = line_run(8, num_valid=6)
    ranked: list[int] = []

    def ranking(_model: object, some: np.ndarray, _known: object) -> None:  # type: ignore[type-arg]
        ranked.append(len(some))

    monkeypatch.setattr("hale.evaluation.validation.filtered_ranks", ranking)
    clock = itertools.count(10.0, 2.5)
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    assert Validation(run.graph).seconds_for(run.model, 3) == 2.5
    assert ranked == [6], "both ways"


def test_scores_that_are_not_finite_are_seen_without_a_valid_split() -> None:
    graph = ring(12, held_out=2)
    bare = replace(graph, valid=graph.valid[:0])
    model = make_model("transe", graph.size, 4)
    validation = Validation(bare, 5)
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
    alone = Validation(replace(graph, **splits), 10).metrics(model)
    assert alone["mean_rank"] == (4 + 4.5) / 2
    splits[split] = np.concatenate([splits[split], [[0, 0, 1]]])
    found = Validation(replace(graph, **splits), 10).metrics(model)
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
    found = Validation(graph, 2)
    assert len(found.others) == 2 * 6
    assert found.prefers_last(model, good, bad) is True
    assert torch.equal(model.state_dict()["shift.weight"], good["shift.weight"])
    assert found.prefers_last(model, bad, good) is False
    assert torch.equal(model.state_dict()["shift.weight"], bad["shift.weight"]), "ends with last"
    assert found.prefers_last(model, good, dict(good)) is True, "no worse"
    nobody = Validation(graph, 8)
    assert not len(nobody.others)
    assert nobody.prefers_last(model, good, bad) is False


def test_without_a_valid_split_one_query_is_looked_at() -> None:
    """The first of train: that the second is not finite goes unnoticed."""
    table = torch.zeros(12, 12)
    table[1] = torch.nan
    graph = ring(12, held_out=2)
    train = np.array([[0, 0, 1], [1, 0, 2]])
    bare = replace(graph, train=train, valid=graph.valid[:0])
    assert Validation(bare, 5).metrics(Fixed(table)) == {}
    turned = replace(bare, train=train[::-1])
    with pytest.raises(EvaluationError):
        Validation(turned, 5).metrics(Fixed(table))

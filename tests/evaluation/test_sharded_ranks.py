from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hale.data.graph import SpanSize
from hale.engine.group import Group
from hale.engine.randomness import Stream, seeded
from hale.engine.shards import Shards
from hale.errors import EvaluationError
from hale.evaluation.ranks import filtered_ranks
from hale.evaluation.sharded_ranks import ShardedRanks
from hale.models import Model, make_model
from hale.training.sharded_answers import ShardedAnswers
from tests.conftest import ring
from tests.ranks import Ranks

SIZE = 130
KINDS = [("rotl", "l2"), ("distmult", "dot"), ("roth", "hyperbolic")]


def model_of(kind: tuple[str, str], group: Group, *, loops: bool) -> Model:
    span = Shards(SIZE, group.size).span(group.rank)
    with seeded(3, Stream.INIT):
        model = make_model(
            kind[0],
            SpanSize(len(span), 2, span.first),
            8,
            similarity=kind[1],
            biases=kind[1] != "l2",
            loops=loops,
            init_scale=0.5,
        )
    if model.may_loop is not None:
        model.may_loop.fill_(value=False)
    return model.eval()


def ranked(group: Group, kind: tuple[str, str], loops: bool) -> NDArray[np.float64]:
    graph = ring(SIZE)
    shards = Shards(SIZE, group.size)
    splits = [graph.train, graph.valid, graph.test]
    known = ShardedAnswers(splits, 2, group, shards.span(group.rank))
    model = model_of(kind, group, loops=loops)
    triples = graph.both_directions(np.concatenate([graph.valid, graph.test]))
    return ShardedRanks(group, shards)(model, triples, known)


@pytest.mark.parametrize("engine", ["native", "tiles"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loops", [True, False])
def test_as_in_one_process(
    kind: tuple[str, str], loops: bool, engine: str, choose_engine: Callable[[str], None]
) -> None:
    choose_engine(engine)
    graph = ring(SIZE)
    triples = graph.both_directions(np.concatenate([graph.valid, graph.test]))
    wanted = filtered_ranks(model_of(kind, Group(), loops=loops), triples, graph.known_answers)
    np.testing.assert_array_equal(ranked(Group(), kind, loops), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_on_any_number_of_ranks(ranks: Ranks, kind: tuple[str, str]) -> None:
    alone = ranked(Group(), kind, loops=False)
    for size in (2, 3):
        for found in ranks(size, ranked, kind, False):
            np.testing.assert_array_equal(found, alone)


def spoiled(group: Group) -> str:
    """One rank has a vector that is no number; all are told."""
    graph = ring(SIZE)
    shards = Shards(SIZE, group.size)
    model = model_of(("rotl", "l2"), group, loops=True)
    if group.rank == 1:
        with torch.no_grad():
            model.entities()[3] = torch.nan
    known = ShardedAnswers([graph.train], 2, group, shards.span(group.rank))
    try:
        ShardedRanks(group, shards)(model, graph.valid, known)
    except EvaluationError as error:
        return str(error)
    return ""


def test_scores_that_are_not_finite_are_told_to_all(ranks: Ranks) -> None:
    for told in ranks(2, spoiled):
        assert "not finite" in told


def known_of(group: Group, splits: list[NDArray[np.int64]]) -> list[object]:
    span = Shards(SIZE, group.size).span(group.rank)
    known = ShardedAnswers(splits, 2, group, span)
    heads, relations = np.arange(SIZE), np.arange(SIZE) % 4
    return [known.counts(heads, relations), known.two_way, known.loops, known.of(heads, relations)]


def test_known_answers_of_a_span(ranks: Ranks) -> None:
    graph = ring(SIZE)
    loops = np.array([[5, 1, 5], [6, 1, 6], [7, 0, 9], [9, 0, 7]])
    train = np.concatenate([graph.train, loops])
    whole = type(graph.known_answers).both_ways([train], 2)
    heads, relations = np.arange(SIZE), np.arange(SIZE) % 4
    pairs = []
    for counts, two_way, looping, (rows, answers) in ranks(2, known_of, [train]):
        np.testing.assert_array_equal(counts, whole.counts(heads, relations))
        np.testing.assert_array_equal(two_way, whole.two_way)
        np.testing.assert_array_equal(looping, whole.loops)
        pairs += list(zip(rows.tolist(), answers.tolist(), strict=True))
    rows, answers = whole.of(heads, relations)
    assert sorted(pairs) == sorted(zip(rows.tolist(), answers.tolist(), strict=True))

"""Withdrawal: the factor is the smallest, to a hundredth, by which old answers hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from hale.data.graph import Graph, Vocabulary
from hale.evaluation.metrics import Metrics
from hale.evaluation.ranks import filtered_ranks
from hale.models import Model, make_model
from hale.training.update.withdrawal import MovingRanks, sample, withdraw, withdraw_until
from tests.conftest import ring


def line() -> tuple[Model, Graph]:
    """On a line: a at -1, b at 1, and the new one, which nothing asks for, at 0.92."""
    facts = np.array([[0, 0, 1]])
    graph = Graph(
        name="line",
        entities=Vocabulary(["a", "b", "new"], "entity"),
        relations=Vocabulary(["to"], "relation"),
        train=facts[:0],
        valid=facts,
        test=facts[:0],
    )
    model = make_model("transe", graph.size, 1)
    model.entity.weight.data = torch.tensor([[-1.0], [1.0], [0.92]])
    # (a, to) asks at 0.95, and the reciprocal of b at a itself.
    model.shift.weight.data = torch.tensor([[1.95], [-2.0]])
    return model, graph


def test_new_entities_withdraw_just_far_enough() -> None:
    """The query (a, to) is at 0.95, b 0.05 away, the new one 0.03: it must pass 1.0."""
    model, graph = line()
    factor = withdraw_until(model, graph, graph.valid, first=2, least=1.0)
    steps = 0.3 / 2**5
    assert 1 / 0.92 < factor <= 1 / 0.92 + steps
    assert model.entities()[2].item() == pytest.approx(0.92 * factor)
    assert model.entities()[:2].tolist() == [[-1], [1]]


def test_nothing_moves_where_nothing_is_lost() -> None:
    model, graph = line()
    assert withdraw_until(model, graph, graph.valid, first=2, least=0.5) == 1
    assert withdraw_until(model, graph, graph.valid[:0], first=2, least=1.0) == 1
    assert withdraw_until(model, graph, graph.valid, first=3, least=1.0) == 1
    assert model.entities()[2].item() == pytest.approx(0.92)


def test_withdrawing_is_outwards_by_distance_and_inwards_by_inner_product() -> None:
    model, _ = line()
    model.entity.weight.data = torch.tensor([[0.0], [2.0], [4.0]])
    withdraw(model, 2, 1.5)
    assert model.entities().tolist() == [[0], [2], [1 + 1.5 * 3]]
    dot = make_model("distmult", model.size, 1, similarity="dot")
    dot.entity.weight.data = torch.tensor([[0.0], [2.0], [3.0]])
    withdraw(dot, 2, 1.5)
    assert dot.entities().tolist() == [[0], [2], [2]]


@pytest.mark.parametrize("name", ["rotl", "complex", "atth"])
@pytest.mark.parametrize("loops", [True, False])
def test_ranks_are_those_of_the_evaluator(name: str, loops: bool) -> None:
    """Biases, ties, and known answers among both kinds of entities; entities ruled out."""
    graph = ring(24)
    torch.manual_seed(0)
    model = make_model(name, graph.size, 8, biases=True, loops=loops).eval()
    if model.may_loop is not None:
        model.may_loop[1:] = False
    assert model.tail_bias is not None
    torch.nn.init.normal_(model.tail_bias.weight)
    table = model.entity.weight.data
    table[23] = table[1]
    model.tail_bias.weight.data[23] = model.tail_bias.weight.data[1]
    old = graph.train[(graph.train[:, 2] < 20) & (graph.train[:, 0] < 20)]
    triples = graph.both_directions(old)
    places = MovingRanks(model, triples, graph.known(), 20)
    for factor in (1.0, 0.5, 2.0):
        withdraw(model, 20, factor)
        expected = Metrics.of(filtered_ranks(model, triples, graph.known())).mrr
        assert places.mrr() == pytest.approx(expected, rel=1e-5)


def test_a_sample_is_drawn_without_repeats() -> None:
    triples = np.arange(36_000).reshape(-1, 3)
    drawn = sample(triples, 1)
    assert len(np.unique(drawn[:, 0])) == 10_000
    assert np.array_equal(drawn, sample(triples, 1))
    assert not np.array_equal(drawn, sample(triples, 2))
    assert sample(triples[:5], 1).shape == (5, 3)


def answered_by_the_new_one() -> tuple[Model, Graph]:
    """On a line: (a, to) asks at 1.2, b is at 1, and the new c, which a fact names, at 1.1."""
    facts = np.array([[0, 0, 1], [0, 0, 2]])
    graph = Graph(
        name="line",
        entities=Vocabulary(["a", "b", "c"], "entity"),
        relations=Vocabulary(["to"], "relation"),
        train=facts[1:],
        valid=facts[:1],
        test=facts[:0],
    )
    model = make_model("transe", graph.size, 1)
    model.entity.weight.data = torch.tensor([[-1.0], [1.0], [1.1]])
    model.shift.weight.data = torch.tensor([[2.2], [-2.0]])
    return model, graph


def test_a_known_answer_does_not_compete() -> None:
    """c is nearer to the query than b, but it is a known answer: nothing is lost, none moves."""
    model, graph = answered_by_the_new_one()
    assert withdraw_until(model, graph, graph.valid, first=2, least=1.0) == 1
    assert model.entities()[2].item() == pytest.approx(1.1)


def test_what_withdrawing_cannot_cure_is_left() -> None:
    """b loses to a itself, which is known and stays; the new one has nothing to do with it."""
    model, graph = line()
    model.entity.weight.data[2] = 5.0  # far from all questions
    model.shift.weight.data = torch.tensor([[0.0], [-2.0]])  # (a, to) asks where a is
    assert withdraw_until(model, graph, graph.valid, first=2, least=1.0) == 1
    assert model.entities()[2].item() == pytest.approx(5.0)


def test_as_far_as_withdrawing_reaches() -> None:
    """(a, to, b) is first once the new one is beyond b; (b, to, a) never is, for b stands between.

    The reciprocal of the second, asked at -3, has b second at best. So 17/24 is what withdrawing
    can reach, and the first factor that reaches it is taken.
    """
    model, graph = line()
    triples = np.array([[0, 0, 1], [1, 0, 0]])
    graph = replace(graph, valid=triples)
    factor = withdraw_until(model, graph, triples, first=2, least=1.0)
    assert 1 / 0.92 < factor <= 1 / 0.92 + 0.3 / 2**5
    ranks = filtered_ranks(model, graph.both_directions(triples), graph.known())
    assert Metrics.of(ranks).mrr == pytest.approx(17 / 24)

"""The square loss over all triples against a loop that visits every one of them."""

from __future__ import annotations

import pytest
import torch

from hale.data.graph import Graph, GraphSize
from hale.models import make_model
from hale.objectives import AllNegSquare
from hale.objectives.allneg_square import sum_of_squares
from tests.conftest import ring
from tests.objectives.scalars import build, is_left_alone

MODELS = [("transe", "l2"), ("distmult", "dot"), ("complex", "dot")]


def label(name: str) -> float:
    """TransE's f is 1 - d^2, of which its score is -d^2."""
    return 1.0 if name == "transe" else 0.0


@pytest.mark.parametrize(("name", "similarity"), MODELS)
def test_sum_over_all_triples(graph: Graph, name: str, similarity: str) -> None:
    model = build(graph, name, similarity=similarity)
    count, relations = model.size.num_entities, 2 * model.size.num_relations
    total = 0.0
    for head in range(count):
        for relation in range(relations):
            scores = model.score_all(torch.tensor([head]), torch.tensor([relation]))
            total += (label(name) + scores).square().sum().item()
    assert sum_of_squares(model).item() == pytest.approx(total)


@pytest.mark.parametrize(("name", "similarity"), MODELS)
def test_batches_of_an_epoch_add_up_to_the_whole_loss(
    graph: Graph, name: str, similarity: str
) -> None:
    """sum over positives (f - 1)^2 + w sum over all others f^2, each triple visited once."""
    model = build(graph, name, similarity=similarity)
    known = graph.known("train")
    both = torch.tensor(graph.both_directions(graph.train))
    positive = {tuple(triple) for triple in both.tolist()}
    assert len(positive) == len(both) == len(known)
    wanted = 0.0
    for head in range(model.size.num_entities):
        for relation in range(2 * model.size.num_relations):
            scores = model.score_all(torch.tensor([head]), torch.tensor([relation]))[0].tolist()
            for tail, found in enumerate(scores):
                score = label(name) + found
                if (head, relation, tail) in positive:
                    wanted += (score - 1) ** 2
                else:
                    wanted += 0.3 * score**2
    objective = AllNegSquare(negative_weight=0.3)
    half = len(both) // 2
    found = [
        len(part) * objective(model, part, torch.Generator(), known).total.item()
        for part in (both[:half], both[half:])
    ]
    assert sum(found) == pytest.approx(wanted)


@pytest.mark.parametrize(("name", "similarity"), MODELS)
def test_inputs_and_gradients(graph: Graph, name: str, similarity: str) -> None:
    assert is_left_alone(build(graph, name, similarity=similarity), graph, AllNegSquare())


@pytest.mark.parametrize(("name", "similarity"), MODELS)
def test_training_tells_positives_from_the_rest(name: str, similarity: str) -> None:
    """A table that fell into one point would score all alike."""
    graph = ring(24)
    model = build(graph, name, similarity=similarity)
    objective, known = AllNegSquare(negative_weight=0.1), graph.known("train")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    batch = torch.tensor(graph.both_directions(graph.train))
    for _ in range(300):
        optimizer.zero_grad()
        objective(model, batch, torch.Generator(), known).total.backward()
        optimizer.step()
    scores = model.score_all(batch[:, 0], batch[:, 1])
    true = scores.gather(1, batch[:, 2:]).mean()
    assert true > scores.mean() + 0.3


def test_closed_form_at_zero(graph: Graph) -> None:
    """All scores 0: every positive costs 1, nothing else costs anything."""
    model = build(graph, "distmult", similarity="dot")
    with torch.no_grad():
        model.entity.weight.zero_()
    loss = AllNegSquare()(model, torch.tensor(graph.train), torch.Generator(), graph.known("train"))
    assert loss.total.item() == pytest.approx(1.0)


def test_a_loop_that_is_ruled_out_is_learnt_like_any_other() -> None:
    """Its score for ranking is beyond all bounds; that of its vectors is not."""
    torch.manual_seed(0)
    free = make_model("transe", GraphSize(4, 1), 4)
    bound = make_model("transe", GraphSize(4, 1), 4, loops=False)
    bound.load_state_dict(free.state_dict(), strict=False)
    assert bound.may_loop is not None
    bound.may_loop[:] = False
    batch = torch.tensor([[0, 0, 0], [0, 0, 1]])
    losses = [
        AllNegSquare(negative_weight=0.01)(model, batch, torch.Generator()).total.item()
        for model in (free, bound)
    ]
    assert losses[0] == losses[1]
    assert abs(losses[0]) < 1e3


def test_without_known_answers_the_batch_is_all_there_is(graph: Graph) -> None:
    model = build(graph, "distmult", similarity="dot")
    batch = torch.tensor(graph.train[:7])
    scores = model.score(*batch.unbind(1))
    loss = AllNegSquare(negative_weight=0.2)(model, batch, torch.Generator())
    everything = sum_of_squares(model).item() / 7
    positives = ((scores - 1) ** 2 - 0.2 * scores**2).mean().item()
    assert loss.parts["all"].item() == pytest.approx(everything)
    assert loss.parts["positives"].item() == pytest.approx(positives)
    assert loss.total.item() == pytest.approx(positives + 0.2 * everything)

"""The square loss over all triples against a loop that visits every one of them."""

from __future__ import annotations

import pytest
import torch

from hale.graph import Graph
from hale.objectives import AllNegSquare
from hale.objectives.allneg_square import sum_of_squares
from tests.objectives.scalars import build, is_left_alone

MODELS = [("transe", "l2"), ("distmult", "dot"), ("complex", "dot")]


@pytest.mark.parametrize(("name", "similarity"), MODELS)
def test_sum_over_all_triples(graph: Graph, name: str, similarity: str) -> None:
    model = build(graph, name, similarity=similarity)
    count, relations = model.size.num_entities, 2 * model.size.num_relations
    total = 0.0
    for head in range(count):
        for relation in range(relations):
            scores = model.score_all(torch.tensor([head]), torch.tensor([relation]))
            total += scores.square().sum().item()
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
            for tail, score in enumerate(scores):
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

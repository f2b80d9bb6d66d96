"""SamNeg and AdvNeg against plain Python scalars."""

from __future__ import annotations

import math

import pytest
import torch

from hale.data.graph import Graph
from hale.engine.activations import Activation, Hanon, Identity
from hale.objectives import AdvNeg, SamNeg
from hale.objectives.scoring import Scoring
from tests.objectives.scalars import build, f, is_left_alone, softplus

KINDS = [
    ("rote", "l2", False, Identity(), False),
    ("rote", "l2", True, Identity(), False),
    ("rote", "l2", False, Hanon(), True),
    ("complex", "dot", False, Identity(), False),
    ("roth", "hyperbolic", True, Identity(), False),
    ("roth", "hyperbolic", True, Hanon(), True),
]


@pytest.mark.parametrize(("name", "similarity", "biases", "h", "scaled"), KINDS)
@pytest.mark.parametrize("adversarial", [False, True])
def test_against_scalars(
    graph: Graph,
    name: str,
    similarity: str,
    biases: bool,
    h: Activation,
    scaled: bool,
    adversarial: bool,
) -> None:
    model = build(graph, name, similarity=similarity, biases=biases)
    batch = torch.tensor(graph.both_directions(graph.train)[::9])
    scoring = Scoring(h, relation_scale=scaled)
    objective = (
        AdvNeg(scoring, negatives=3, margin=0.7, temperature=0.5)
        if adversarial
        else SamNeg(scoring, negatives=3, margin=0.7)
    )
    loss = objective(model, batch, torch.Generator().manual_seed(5))
    drawn = torch.randint(
        len(graph.entities), (len(batch), 3), generator=torch.Generator().manual_seed(5)
    )
    positives = negatives = 0.0
    for (head, relation, tail), others in zip(batch.tolist(), drawn.tolist(), strict=True):
        positives += softplus(-f(model, head, relation, tail, h, scaled=scaled) - 0.7)
        scores = [f(model, head, relation, e, h, scaled=scaled) + 0.7 for e in others]
        weights = [math.exp(0.5 * s) if adversarial else 1.0 for s in scores]
        negatives += sum(
            w / sum(weights) * softplus(s) for w, s in zip(weights, scores, strict=True)
        )
    assert loss.parts["positives"].item() == pytest.approx(positives / len(batch))
    assert loss.parts["negatives"].item() == pytest.approx(negatives / len(batch))
    assert loss.total.item() == pytest.approx((positives + negatives) / len(batch))


def test_adversarial_weights_are_constants(graph: Graph) -> None:
    """The gradient of the negatives' part is the weighted sum of sigmoids, no more."""
    scores = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    AdvNeg(Scoring(Identity(), relation_scale=False), temperature=2.0).weigh(
        scores
    ).mean().backward()
    weights = (2.0 * scores.detach()).softmax(dim=1)
    torch.testing.assert_close(scores.grad, weights * scores.detach().sigmoid() / 4)


def test_no_temperature_is_samneg(graph: Graph) -> None:
    scoring = Scoring(Identity(), relation_scale=False)
    scores = torch.randn(4, 5)
    even = AdvNeg(scoring, temperature=0.0).weigh(scores)
    torch.testing.assert_close(even, SamNeg(scoring).weigh(scores))


@pytest.mark.parametrize("name", ["rote", "roth", "complex"])
@pytest.mark.parametrize("kind", [SamNeg, AdvNeg])
def test_inputs_and_gradients(graph: Graph, name: str, kind: type[SamNeg]) -> None:
    objective = kind(Scoring(Identity(), relation_scale=False), negatives=4)
    assert is_left_alone(build(graph, name), graph, objective)


def test_negatives_are_drawn_from_all_entities_anew(graph: Graph) -> None:
    model = build(graph)
    objective = SamNeg(Scoring(Identity(), relation_scale=False), negatives=2)
    batch = torch.tensor(graph.train)
    first, second, again = (
        objective(model, batch, torch.Generator().manual_seed(seed)).total.item()
        for seed in (1, 2, 1)
    )
    assert first == again
    assert first != second


@pytest.mark.parametrize("kind", [SamNeg, AdvNeg])
def test_closed_form_at_zero(graph: Graph, kind: type[SamNeg]) -> None:
    """All scores 0: both parts are ln 2, whatever the weights."""
    model = build(graph, "complex")
    with torch.no_grad():
        model.entity.weight.zero_()
    objective = kind(Scoring(Identity(), relation_scale=False), negatives=7)
    loss = objective(model, torch.tensor(graph.train), torch.Generator())
    assert loss.total.item() == pytest.approx(2 * math.log(2))

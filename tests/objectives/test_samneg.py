"""SamNeg and AdvNeg against plain Python scalars."""

from __future__ import annotations

import math

import pytest
import torch

from hale.data.graph import Graph
from hale.engine.activations import Activation, Hanon, Identity
from hale.objectives import AdvNeg, SamNeg
from hale.objectives.scoring import Scoring
from hale.runs.score_kind import has_biases
from hale.runs.systems import complete
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
@pytest.mark.parametrize("double", [False, True])
def test_against_scalars(
    graph: Graph,
    name: str,
    similarity: str,
    biases: bool,
    h: Activation,
    scaled: bool,
    adversarial: bool,
    double: bool,
) -> None:
    model = build(graph, name, similarity=similarity, biases=biases)
    batch = torch.tensor(graph.both_directions(graph.train)[::9])
    scoring = Scoring(h, relation_scale=scaled)
    objective = (
        AdvNeg(scoring, negatives=3, double_negatives=double, margin=0.7, temperature=0.5)
        if adversarial
        else SamNeg(scoring, negatives=3, double_negatives=double, margin=0.7)
    )
    loss = objective(model, batch, torch.Generator().manual_seed(5))
    generator = torch.Generator().manual_seed(5)
    drawn, heads = (
        torch.randint(len(graph.entities), (len(batch), 3), generator=generator).tolist()
        for _ in range(2)
    )
    positives = negatives = 0.0
    for place, (head, relation, tail) in enumerate(batch.tolist()):
        positives += softplus(-f(model, head, relation, tail, h, scaled=scaled) - 0.7)
        froms = heads[place] if double else [head] * 3
        pairs = zip(froms, drawn[place], strict=True)
        scores = [f(model, one, relation, e, h, scaled=scaled) + 0.7 for one, e in pairs]
        weights = [math.exp(0.5 * s) for s in scores]
        total = sum(weights)
        shares = [w / total if adversarial else 1.0 for w in weights]
        negatives += sum(w * softplus(s) for w, s in zip(shares, scores, strict=True))
    if not adversarial:  # a positive and three negatives weigh a quarter each
        positives, negatives = positives / 4, negatives / 4
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


def test_without_temperature_negatives_weigh_alike(graph: Graph) -> None:
    scoring = Scoring(Identity(), relation_scale=False)
    scores = torch.randn(4, 5)
    even = AdvNeg(scoring, temperature=0.0).weigh(scores)
    torch.testing.assert_close(5 * even, SamNeg(scoring, negatives=5).weigh(scores))


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
    """All scores 0: a softmax of weights and a positive sum to 2 ln 2, equal weights to ln 2."""
    model = build(graph, "complex")
    with torch.no_grad():
        model.entity.weight.zero_()
    objective = kind(Scoring(Identity(), relation_scale=False), negatives=7)
    loss = objective(model, torch.tensor(graph.train), torch.Generator())
    parts = 2 if kind is AdvNeg else 1
    assert loss.total.item() == pytest.approx(parts * math.log(2))


@pytest.mark.parametrize("strategy", ["samneg", "advneg"])
@pytest.mark.parametrize("model", ["rote", "complex"])
def test_biases_come_with_it(strategy: str, model: str) -> None:
    """But for a bounded score; and who says otherwise is heard."""
    assert has_biases(complete(strategy=strategy, model=model))
    assert not has_biases(complete(strategy=strategy, model="rote", activation="hanon"))
    assert not has_biases(complete(strategy=strategy, model=model, biases=False))

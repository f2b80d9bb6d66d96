"""What teachers add to a loss, against plain scalars."""

from __future__ import annotations

import math

import pytest
import torch

from hale.data.graph import GraphSize
from hale.engine.activations import Hanon, Identity
from hale.models import Model, make_model
from hale.objectives import DISTILLATIONS, DistilE, MulDE
from hale.objectives.scoring import Scoring
from hale.objectives.soft_labels import SoftLabels
from tests.objectives.test_anchored import Seven

TAUGHT = [[[1.0, -2.0], [0.5, 0.0], [-3.0, 1.0]]]  # one query, three candidates, two teachers
SCALES = [[0.5, 0.9]]
SCORES = [[-0.2, 0.4, -1.0]]


def softmax(values: list[float]) -> list[float]:
    total = sum(math.exp(value) for value in values)
    return [math.exp(value) / total for value in values]


def divergence(p: list[float], q: list[float]) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def labels(model: Model) -> SoftLabels:
    queries = torch.tensor([[0, 0], [3, 1]])
    candidates = torch.tensor([[1, 2, 3], [0, 1, 2]])
    scores = torch.tensor([TAUGHT[0], TAUGHT[0]])
    scales = torch.full((2 * model.size.num_relations, 2), 0.8)
    return SoftLabels(queries, candidates, scores, scales)


def plain() -> Scoring:
    return Scoring(Identity(), relation_scale=False)


def mulde(**options: float) -> MulDE:
    model = make_model("transe", GraphSize(4, 1), 2)
    return MulDE(Seven(), labels(model), plain(), weight=1.0, **options)  # type: ignore[arg-type]


def test_distile_is_the_mean_huber_difference_from_the_mean_teacher() -> None:
    model = make_model("transe", GraphSize(4, 1), 2)
    objective = DistilE(Seven(), labels(model), plain(), weight=1.0)
    found = objective.difference(*map(torch.tensor, (SCORES, TAUGHT, SCALES)))
    means = [-0.5, 0.25, -1.0]
    apart = [abs(f - g) for f, g in zip(SCORES[0], means, strict=True)]
    expected = sum(x * x / 2 if x <= 1 else x - 0.5 for x in apart) / 3
    assert found.item() == pytest.approx(expected)
    far = objective.difference(torch.tensor([[9.0, 0.0, 0.0]]), torch.zeros(1, 3, 1), SCALES)  # type: ignore[arg-type]
    assert far.item() == pytest.approx(8.5 / 3)


@pytest.mark.parametrize(("temperature", "progress"), [(1.0, 0.0), (2.0, 0.5)])
def test_mulde_weighs_teachers_by_how_little_they_contradict(
    temperature: float, progress: float
) -> None:
    scaled = [[SCALES[0][i] * row[i] for row in TAUGHT[0]] for i in (0, 1)]
    own = softmax(SCORES[0])
    heat = math.exp(4 * progress)
    attention = softmax([-divergence(own, softmax(one)) / heat for one in scaled])
    joint = [attention[0] * scaled[0][k] + attention[1] * scaled[1][k] for k in range(3)]
    expected = temperature**2 * divergence(
        softmax([g / temperature for g in joint]), softmax([f / temperature for f in SCORES[0]])
    )
    objective = mulde(temperature=temperature).at(progress)
    found = objective.difference(*map(torch.tensor, (SCORES, TAUGHT, SCALES)))
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_a_model_that_is_its_teachers_costs_nothing() -> None:
    scores = torch.tensor([[0.3, -1.0, 2.0]])
    same = scores.unsqueeze(2).expand(-1, -1, 2)
    assert mulde().difference(scores, same, torch.ones(1, 2)).item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("name", DISTILLATIONS)
def test_the_term_takes_the_scores_that_the_strategy_trains(name: str) -> None:
    """Bounds by relation, the relation's scale, and drawn queries; it is added to any loss."""
    model = make_model("transe", GraphSize(4, 1), 2)
    scoring = Scoring(Hanon(beta=2.0), relation_scale=True, bounds=torch.tensor([3.0, 5.0]))
    objective = DISTILLATIONS[name](Seven(), labels(model), scoring, weight=0.5)
    objective.drawn = 6
    made = torch.Generator().manual_seed(0)
    places = torch.randint(2, (6,), generator=torch.Generator().manual_seed(0)).tolist()
    rows, taught = [], []
    for place in places:
        head, relation = [(0, 0), (3, 1)][place]
        query = model.query(torch.tensor([head]), torch.tensor([relation]))[0].tolist()
        scale = model.scale(torch.tensor([relation])).item()
        row = []
        for candidate in ([1, 2, 3], [0, 1, 2])[place]:
            entity = model.entities()[candidate].tolist()
            x = scale * sum((a - b) ** 2 for a, b in zip(query, entity, strict=True))
            gamma = (3.0, 5.0)[relation]
            row.append(-1 / (1 / gamma + math.exp(-2.0 * (x - 0.5))))
        rows.append(row)
        taught.append(TAUGHT[0])
    loss = objective(model, torch.tensor([[0, 0, 1]]), made)
    expected = objective.difference(
        torch.tensor(rows), torch.tensor(taught), torch.full((6, 2), 0.8)
    )
    assert loss.parts[name].item() == pytest.approx(expected.item(), rel=1e-5)
    assert loss.total.item() == pytest.approx(7 + 0.5 * expected.item(), rel=1e-5)
    loss.total.backward()
    assert torch.isfinite(model.entity.weight.grad.to_dense()).all()

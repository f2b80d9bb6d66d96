"""What all strategies share: made from settings, with defaults of their own, for some models."""

from __future__ import annotations

import pytest
import torch

from hale.data.graph import Graph
from hale.engine.activations import Halin, Hanon, Identity
from hale.errors import UnknownNameError
from hale.objectives import (
    OBJECTIVES,
    AdvNeg,
    AllNeg,
    AllNegSquare,
    HaLE,
    NonNeg,
    Objective,
    Penalized,
    SamNeg,
    make_objective,
    objective_class,
)
from hale.objectives.scoring import Scoring
from hale.runs.systems import complete
from hale.settings import make_settings
from hale.settings.space import Choice, Float
from tests.objectives.scalars import build
from tests.objectives.test_anchored import Seven

# All of them other than the default.
ASKED: dict[str, dict[str, object]] = {
    "hale": {
        "queries": 7,
        "weight": 0.3,
        "square": False,
        "relation_scale": False,
        "leave_out_known": False,
        "gamma_start": 2.0,
        "gamma_two_way": 8.0,
        "query_power": 0.5,
    },
    "samneg": {"negatives": 9, "margin": 2.5},
    "advneg": {"negatives": 9, "margin": 2.5, "temperature": 0.25},
    "allneg": {"leave_out_known": False},
    "allneg-square": {"negative_weight": 0.2},
    "nonneg": {"weight": 0.3},
}


@pytest.mark.parametrize("strategy", OBJECTIVES)
def test_settings_reach_the_strategy(strategy: str) -> None:
    """Each under its own name; 'queries' is a number of them."""
    default = make_objective(make_settings(strategy=strategy, activation="identity"))
    made = make_objective(
        make_settings(strategy=strategy, activation="identity", **ASKED[strategy])
    )
    assert type(made) is OBJECTIVES[strategy]
    for name, value in ASKED[strategy].items():
        attribute = "num_queries" if name == "queries" else name
        assert getattr(made, attribute) == value, name
        assert getattr(default, attribute) != value, name


@pytest.mark.parametrize("strategy", ["samneg", "advneg", "allneg", "nonneg"])
def test_the_activation_and_its_scale_reach_the_score(strategy: str) -> None:
    asked = {"strategy": strategy, "activation": "halin", "beta": 7.0, "gamma": 5.0}
    for scaled in (True, False):
        made = make_objective(make_settings(**asked, relation_scale=scaled))
        assert made.scoring.activation == Halin(7.0, 5.0)  # type: ignore[attr-defined]
        assert made.scoring.relation_scale is scaled  # type: ignore[attr-defined]


def test_allneg_is_told_to_leave_out_what_is_known() -> None:
    made = make_objective(make_settings(strategy="allneg", leave_out_known=True))
    assert isinstance(made, AllNeg)
    assert made.leave_out_known is True


def test_what_python_gives_without_settings() -> None:
    """The paper's: 100 queries, lambda 1, squared, with c_r; known answers are left out."""
    made = HaLE(Hanon())
    assert (made.num_queries, made.alpha, made.weight) == (100, None, 1.0)
    assert (made.square, made.relation_scale, made.leave_out_known) == (True, True, True)
    assert (made.gamma_start, made.gamma_two_way, made.query_power) == (None, None, 0.0)
    scoring = Scoring(Identity(), relation_scale=False)
    for sampled in (SamNeg(scoring), AdvNeg(scoring)):
        assert (sampled.negatives, sampled.margin) == (50, 0.0)
    assert AdvNeg(scoring).temperature == 1.0
    assert AllNeg(scoring).leave_out_known is False
    assert AllNegSquare().negative_weight == 0.01
    assert NonNeg(scoring).weight == 1.0


@pytest.mark.parametrize(
    ("strategy", "model", "expected"),
    [
        ("samneg", "rote", {"batch_size": 1024, "margin": 0.0, "relation_scale": False}),
        ("samneg", "complex", {"batch_size": 1024, "margin": 0.0}),
        ("advneg", "rote", {"batch_size": 1024, "margin": 1.0}),
        ("allneg", "rote", {"batch_size": 128, "learning_rate": 0.01}),
        ("allneg", "complex", {"batch_size": 512, "learning_rate": 0.003}),
        ("allneg-square", "distmult", {"relation_scale": False}),
        ("nonneg", "rote", {"learning_rate": 0.0005}),
    ],
)
def test_defaults_that_suit_a_strategy(
    strategy: str, model: str, expected: dict[str, object]
) -> None:
    """As docs/models.md has them; in all of these h is the identity."""
    made = complete(recipe="none", strategy=strategy, model=model, similarity=None).model_dump()
    expected = {**expected, "activation": "identity", "leave_out_known": False}
    assert {name: made[name] for name in expected} == expected


def test_what_a_strategy_takes() -> None:
    """HaLE and NonNeg have no biases; the exact square loss has nothing beside its tables."""
    parts = ("takes_biases", "takes_activation", "takes_dropout", "takes_heights")
    found = {name: [getattr(kind, part) for part in parts] for name, kind in OBJECTIVES.items()}
    assert found == {
        "hale": [False, True, True, True],
        "samneg": [True, True, True, True],
        "advneg": [True, True, True, True],
        "allneg": [True, True, True, True],
        "allneg-square": [False, False, False, False],
        "nonneg": [False, True, True, True],
    }


@pytest.mark.parametrize("strategy", [name for name in OBJECTIVES if name != "hale"])
def test_most_are_the_same_throughout_a_run(strategy: str) -> None:
    made = make_objective(make_settings(strategy=strategy, activation="identity"))
    assert made.at(0.3) is made


def test_names() -> None:
    assert all(objective_class(name) is kind for name, kind in OBJECTIVES.items())
    with pytest.raises(UnknownNameError, match="Did you mean 'samneg'"):
        objective_class("samnge")


def test_a_penalty_is_put_on_where_it_is_asked_for(graph: Graph) -> None:
    """0.5 mean |.|^3 unless another power is given; the strategy below moves with the run."""
    plain = make_objective(make_settings(penalty=0.0))
    assert isinstance(plain, Objective)
    asked = make_objective(make_settings(penalty=0.5, penalty_power=2.5))
    assert isinstance(asked, Penalized)
    assert (asked.weight, asked.power) == (0.5, 2.5)
    model, batch = build(graph, "complex"), torch.tensor(graph.train)
    made = Penalized(Seven(), weight=0.5)
    cubes = model.penalty(batch, 3.0).item()
    assert made(model, batch, torch.Generator()).total.item() == pytest.approx(7 + 0.5 * cubes)
    later = Penalized(Seven(), weight=0.5, power=2.0).at(1.0)
    squares = model.penalty(batch, 2.0).item()
    assert later(model, batch, torch.Generator()).total.item() == pytest.approx(8 + 0.5 * squares)


def test_the_penalty_hands_on_what_is_known(graph: Graph) -> None:
    """HaLE below it leaves out known answers, so it must be told them."""
    made = Penalized(HaLE(Hanon(), num_queries=5), weight=0.1)
    model, batch = build(graph, biases=False), torch.tensor(graph.train)
    loss = made(model, batch, torch.Generator().manual_seed(0), graph.known("train"))
    assert set(loss.parts) == {"alignment", "uniformity", "penalty"}


OPTIMIZER = ("optimizer", "adam", "adagrad")
GENERAL: list[tuple[object, ...]] = [
    OPTIMIZER,
    ("near", 0.0, 0.9, False),
    ("decay", 0.2, 1.0, False),
    ("dropout", 0.0, 0.05, 0.1, 0.2, 0.3, 0.5),
    ("penalty", 0.0, 0.0005, 0.005, 0.05),
    ("penalty_power", 2.0, 3.0),
]
SAMPLED: list[tuple[object, ...]] = [
    ("learning_rate", 0.0002, 0.2, True),
    ("margin", 0.0, 9.0, False),
    ("init_scale", 0.001, 0.3, True),
    ("negatives", 50, 128, 256, 512),
    ("batch_size", 128, 256, 512, 1024, 2048, 4096),
    *GENERAL,
]
SPACES: dict[str, list[tuple[object, ...]]] = {
    "hale": [
        ("learning_rate", 0.002, 0.05, True),
        ("gamma", 3.0, 14.0, False),
        ("weight", 0.05, 2.0, True),
        ("queries", 32, 64, 100, 200, 400, 800),
        ("block", 0.02, 0.05, 0.1, 0.2, 0.4, 1),
        ("init_scale", 0.003, 0.3, True),
        ("batch_size", 2048, 4096, 8192, 16384),
        ("dropout", 0.0, 0.05, 0.1, 0.2, 0.3),
        ("gamma_two_way", 3.0, 14.0, False),
        ("near", 0.0, 0.9, False),
        ("square", False, True),
        ("beta", 1.0, 5.0, False),
        ("decay", 0.2, 1.0, False),
        OPTIMIZER,
    ],
    "samneg": SAMPLED,
    "advneg": [  # RotatE's code has rates down to 0.00005, and up to 1,024 negatives
        ("learning_rate", 0.00005, 0.2, True),
        *(one for one in SAMPLED if one[0] not in ("learning_rate", "negatives")),
        ("negatives", 50, 128, 256, 512, 1024),
        ("temperature", 0.25, 0.5, 1.0, 2.0),
    ],
    "allneg": [
        ("learning_rate", 0.0002, 0.3, True),
        ("batch_size", 128, 256, 512, 1024, 2048, 4096),
        ("init_scale", 0.001, 0.3, True),
        ("block", 0.02, 0.05, 0.1, 0.2, 0.4, 1),
        ("leave_out_known", False, True),
        *(one for one in GENERAL if one[0] != "penalty"),
        ("penalty", 0.0, 0.0005, 0.005, 0.05, 0.1),
    ],
    "allneg-square": [],
    "nonneg": [
        ("learning_rate", 0.0001, 0.2, True),
        ("weight", 0.05, 20.0, True),
        ("init_scale", 0.001, 0.3, True),
        ("batch_size", 512, 1024, 2048, 4096),
        *GENERAL,
    ],
}


@pytest.mark.parametrize("strategy", OBJECTIVES)
def test_what_a_search_moves(strategy: str) -> None:
    """The limits in numbers: a search names its trials by a digest of them."""
    found: list[tuple[object, ...]] = []
    for dimension in OBJECTIVES[strategy].space:
        if isinstance(dimension, Choice):
            found.append((dimension.name, *dimension.values))
        else:
            assert isinstance(dimension, Float)
            found.append((dimension.name, dimension.low, dimension.high, dimension.log))
    assert found == SPACES[strategy]

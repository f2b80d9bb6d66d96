"""The space of a system, and where in it a search begins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hale.data.graph import Graph
from hale.errors import InputError
from hale.objectives import OBJECTIVES, HaLE
from hale.objectives.advneg import AdvNeg
from hale.objectives.allneg import AllNeg
from hale.objectives.samneg import SamNeg
from hale.runs.score_kind import has_biases
from hale.runs.systems import complete
from hale.settings.space import Choice, Float
from hale.training.tune.points import (
    as_settings,
    published_points,
    space_for,
    starting_points,
    suggest,
)

SEARCHED = [name for name, strategy in OBJECTIVES.items() if strategy.space]


def test_strategies_with_a_space() -> None:
    assert SEARCHED == ["hale", "samneg", "advneg", "allneg", "nonneg"]


def test_rivals_may_move_what_hale_may() -> None:
    """All that is no part of HaLE's own loss; and the sampled ones have as much as each other."""
    spaces = {name: {one.name for one in OBJECTIVES[name].space} for name in SEARCHED}
    own = {"queries", "gamma", "gamma_two_way", "beta", "square", "weight", "block"}
    for name in SEARCHED:
        assert spaces["hale"] - own <= spaces[name], name
    for name in SEARCHED[1:]:
        assert {"penalty", "penalty_power"} <= spaces[name], name
    assert spaces["advneg"] - spaces["samneg"] == {"temperature"}
    assert spaces["allneg"] >= {"block", "leave_out_known"}
    for strategy in ("samneg", "advneg"):
        assert has_biases(complete(strategy=strategy, model="rote", recipe="none"))
        assert not has_biases(complete(strategy=strategy, model="rote", activation="hanon"))


def test_no_trial_moves_the_power_of_no_penalty(graph: Graph) -> None:
    for model, moved in (("rote", 0), ("complex", 1)):  # ComplEx comes with a penalty
        began = complete(graph, strategy="allneg", model=model)
        first, *steps = starting_points(began, space_for(graph, began), 24)
        assert sum(step["penalty_power"] != first["penalty_power"] for step in steps) == moved


class Asked:
    """A trial that remembers what it was asked, and takes the least."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        self.asked.append((name, low, high, log))
        return low

    def suggest_categorical(self, name: str, choices: tuple[float, ...]) -> float:
        self.asked.append((name, *choices))
        return choices[0]


def test_a_trial_is_asked_in_the_order_of_the_space() -> None:
    trial = Asked()
    space = (Float("gamma", 3, 14), Choice("queries", (16, 32)), Float("weight", 0.1, 2, log=True))
    assert suggest(trial, space) == {"gamma": 3, "queries": 16, "weight": 0.1}
    assert trial.asked == [
        ("gamma", 3, 14, False),
        ("queries", 16, 32),
        ("weight", 0.1, 2, True),
    ]


@pytest.mark.parametrize("strategy", SEARCHED)
def test_every_space_names_settings_and_starts_at_what_there_is(strategy: str) -> None:
    model = "complex" if strategy == "allneg" else "rotl"
    began = complete(model=model, strategy=strategy)
    settings = began.model_dump()
    settings["gamma_two_way"] = settings["gamma"]  # one, for all
    settings["block"] = 1  # all of them
    start, *steps = starting_points(began, OBJECTIVES[strategy].space, 1000)
    assert set(start) <= set(settings)
    for name, value in start.items():
        assert value == settings[name], name
    changed = [[name for name in start if step[name] != start[name]] for step in steps]
    assert {len(names) for names in changed} == {1}, "one setting each"
    idle = {"penalty_power"} if start.get("penalty") == 0 else set()
    assert list(dict.fromkeys(names[0] for names in changed)) == [
        one for one in start if one not in idle
    ], "and every one, in the order of the space"


def test_a_model_has_a_space_of_its_own(graph: Graph) -> None:
    def named(model: str) -> set[str]:
        return {dimension.name for dimension in space_for(graph, complete(model=model))}

    assert named("affine") - named("rotl") == {"group_size"}
    settings = complete(model="affine", group_size=2)
    first, *steps = starting_points(settings, space_for(graph, settings), 1000)
    assert first["group_size"] == 2
    assert 4 in {step["group_size"] for step in steps}


def test_what_authors_train_with_is_a_point_of_the_space() -> None:
    """KGEmb's examples for SamNeg: Adam at .001 by batches of 100, Adagrad at .05 by 500."""
    began = complete(model="rote", strategy="samneg", recipe="none")
    first, *_ = starting_points(began, SamNeg.space, 1000)
    adam, adagrad = published_points(began, SamNeg.space, 1000)
    names = "optimizer", "learning_rate", "batch_size", "negatives", "margin", "init_scale"
    assert [adam[name] for name in names] == ["adam", 0.001, 128, 50, 0.0, 0.001]
    assert [adagrad[name] for name in names] == ["adagrad", 0.05, 512, 50, 0.0, 0.001]
    assert all(adam[name] == first[name] for name in first.keys() - set(names))
    held = published_points(began, SamNeg.space, 1000, fixed=["optimizer"])
    assert [point["optimizer"] for point in held] == ["adam", "adam"]
    rotate = published_points(complete(model="rote", strategy="advneg"), AdvNeg.space, 1000)
    assert [point["learning_rate"] for point in rotate] == [0.00005, 0.00005]
    assert [point["negatives"] for point in rotate] == [1024, 256]
    complex_at = published_points(complete(model="complex", strategy="allneg"), AllNeg.space, 1000)
    assert [(point["batch_size"], point["penalty"]) for point in complex_at] == [
        (128, 0.1),
        (1024, 0.05),
    ]
    fewer = tuple(one for one in AdvNeg.space if one.name != "learning_rate")
    slow = Float("learning_rate", 0.001, 0.2, log=True)
    edged = published_points(complete(model="rote", strategy="advneg"), (*fewer, slow), 1000)
    assert [point["learning_rate"] for point in edged] == [0.001, 0.001], "the edge"
    for strategy in SEARCHED:
        for asked in OBJECTIVES[strategy].published:
            assert asked.keys() <= {one.name for one in OBJECTIVES[strategy].space}, strategy
    few = tuple(one for one in HaLE.space if one.name in ("weight", "learning_rate"))
    assert published_points(complete(), few, 1000) == []


def test_authors_train_scores_that_are_not_activated() -> None:
    """So of theirs goes what the strategy has for the scores of an activation: a margin of 1."""
    began = complete(model="rote", strategy="samneg", activation="hanon", recipe="none")
    adam, adagrad = published_points(began, SamNeg.space, 1000)
    assert [adam["margin"], adagrad["margin"]] == [1.0, 1.0]
    assert [adam["optimizer"], adagrad["optimizer"]] == ["adam", "adagrad"]


@pytest.mark.parametrize("strategy", ["samneg", "advneg"])
def test_an_activated_score_has_a_margin_in_every_trial(graph: Graph, strategy: str) -> None:
    """It is at most 0, so that without one the best of all losses calls a fact a toss-up."""
    for activation, least in (("hanon", 0.5), ("identity", 0.0)):
        began = complete(graph, strategy=strategy, model="rote", activation=activation)
        (margin,) = (one for one in space_for(graph, began) if one.name == "margin")
        assert margin == Float("margin", least, 9.0)


def test_a_step_stays_in_the_space() -> None:
    began = complete(gamma=3.0, weight=1.5, queries=160, learning_rate=0.2, block=90)
    first, *steps = starting_points(began, HaLE.space, 1000)
    assert first["learning_rate"] == 0.05, "the edge"
    tried = {name: sorted({step[name] for step in steps} - {first[name]}) for name in first}
    assert tried["gamma"] == [pytest.approx(4.65)], "no lower one: 3 is the least"
    assert tried["weight"] == [0.75, 2.0]
    assert (first["queries"], tried["queries"]) == (200, [100, 400]), "the nearest, and beside it"
    assert (first["block"], tried["block"]) == (0.1, [0.05, 0.2]), "90 of 1000"
    assert tried["learning_rate"] == [0.025]


def test_a_bound_for_two_way_relations_begins_at_the_one_for_all() -> None:
    assert starting_points(complete(gamma_two_way=9.0), HaLE.space, 1000)[0]["gamma_two_way"] == 9.0
    assert starting_points(complete(gamma=7.0), HaLE.space, 1000)[0]["gamma_two_way"] == 7.0


def test_what_makes_no_difference_is_not_searched(graph: Graph) -> None:
    one_way = replace(graph, train=np.array([[0, 0, 1], [1, 0, 2]]))
    mutual = replace(graph, train=np.array([[0, 0, 1], [1, 0, 0]]))
    every = [dimension.name for dimension in HaLE.space]
    for seen, model, idle in (
        (mutual, "rotl", set()),
        (one_way, "rotl", {"gamma_two_way"}),
        (one_way, "transe", {"gamma_two_way", "near"}),
        (mutual, "transe", {"near"}),
    ):
        space = space_for(seen, complete(model=model))
        assert [d.name for d in space] == [name for name in every if name not in idle]


def test_what_is_fixed_does_not_move() -> None:
    began = complete(beta=2.5)
    first, *steps = starting_points(began, HaLE.space, 1000, fixed=["beta"])
    assert {step["beta"] for step in steps} == {first["beta"]} == {2.5}
    with pytest.raises(InputError, match="A search moves queries"):
        starting_points(complete(alpha=0.1), HaLE.space, 1000)


def test_a_block_of_all_is_called_so() -> None:
    assert as_settings({"block": 1, "beta": 1}) == {"block": "all", "beta": 1}
    assert as_settings({"block": 0.1}) == {"block": 0.1}
    assert as_settings({"beta": 2.0}) == {"beta": 2.0}


def test_an_activation_brings_its_bound_and_takes_it_away(graph: Graph) -> None:
    """HA + SamNeg searches the paper's bounds; without an activation HaLE has none to search."""
    bounded = complete(graph, strategy="samneg", activation="hanon")
    assert Choice("gamma", (5.0, 10.0, 20.0)) in space_for(graph, bounded)
    names = {one.name for one in space_for(graph, complete(graph, activation="identity"))}
    assert names.isdisjoint({"gamma", "gamma_two_way", "beta"})
    assert {"weight", "learning_rate"} <= names


@pytest.mark.parametrize("strategy", ["samneg", "advneg", "allneg"])
def test_the_papers_bounds_are_all_tried_at_once(graph: Graph, strategy: str) -> None:
    """Ten, as the strategy has it under an activation, then five and twenty, then the rest."""
    began = complete(graph, strategy=strategy, activation="hanon")
    assert began.gamma == 10.0
    first, *steps = starting_points(began, space_for(graph, began), 24)
    assert first["gamma"] == 10.0
    assert [step["gamma"] for step in steps[:2]] in ([5.0, 20.0], [20.0, 5.0])
    assert {step["gamma"] for step in steps[2:]} == {10.0}
    told = starting_points(began, space_for(graph, began), 24, fixed=["gamma"])
    assert {step["gamma"] for step in told} == {10.0}


@pytest.mark.parametrize(
    ("activation", "moved"),
    [
        ("hanon", {"gamma", "gamma_two_way", "beta"}),
        ("halin", {"gamma", "gamma_two_way", "beta"}),
        ("sigmoid", {"gamma", "gamma_two_way"}),
        ("xexp", set()),
        ("double", set()),
        ("arctanh", set()),
        ("identity", set()),
    ],
)
def test_no_trial_is_spent_on_what_an_activation_has_not(
    graph: Graph, activation: str, moved: set[str]
) -> None:
    mutual = replace(graph, train=np.array([[0, 0, 1], [1, 0, 0]]))
    for recipe in ("none", "paper"):
        settings = complete(mutual, activation=activation, recipe=recipe)
        names = {one.name for one in space_for(mutual, settings)}
        shape = {"gamma", "gamma_two_way", "beta"} if recipe == "none" else {"gamma"}
        assert names & {"gamma", "gamma_two_way", "beta"} == moved & shape


@pytest.mark.parametrize("strategy", ["hale", "samneg", "advneg", "allneg"])
def test_the_papers_grid(graph: Graph, strategy: str) -> None:
    """Section 4.1.3: the rate and the batch for all; alpha, lambda and gamma are HaLE's."""
    settings = complete(graph, strategy=strategy, model="rote", recipe="paper")
    space = {one.name: one for one in space_for(graph, settings)}
    assert space["learning_rate"] == Choice("learning_rate", (0.0005, 0.001, 0.005))
    assert space["batch_size"] == Choice("batch_size", (256, 512, 1024))
    assert ("alpha" in space) == ("gamma" in space) == (strategy == "hale")
    assert starting_points(settings, tuple(space.values()), 24)

"""What a search found, as a recipe."""

from __future__ import annotations

import tomllib

import pytest

from hale.data.graph import Graph
from hale.objectives import OBJECTIVES
from hale.runs.systems import complete
from hale.settings import make_settings
from hale.training.tune.points import starting_points
from hale.training.tune.recipe_file import recipe_of, recipe_text
from hale.training.tune.search import Tuned

SEARCHED = [name for name, strategy in OBJECTIVES.items() if strategy.space]


@pytest.mark.parametrize("strategy", SEARCHED)
def test_a_recipe_alone_says_what_was_trained(strategy: str) -> None:
    """Also where the best is a general default that the strategy or the model has not."""
    model = "rescal" if strategy == "allneg" else "rotl"
    began = complete(model=model, strategy=strategy)
    general = make_settings().model_dump()
    for point in starting_points(began, OBJECTIVES[strategy].space, 1000):
        trained = complete(model=model, strategy=strategy, **point)
        values = recipe_of(trained, point.keys())
        assert complete(model=model, strategy=strategy, **values) == trained
        assert set(point) <= set(values)
        moved = {name: general[name] for name in point if general[name] is not None}
        assert moved.items() <= recipe_of(make_settings(strategy=strategy), point.keys()).items()


def test_the_recipe_can_be_read_back(graph: Graph) -> None:
    values = {"gamma": 5.25, "batch_size": 64, "square": False, "optimizer": "adagrad"}
    tuned = Tuned("hale", values, 0.4, 0.3, 3, 1, 10.0, 5.0)
    text = recipe_text(graph, "rotl", tuned, 'by "hand"', 16)
    content = tomllib.loads(text)
    assert (content["train"], content["dim"]) == (len(graph.train), 16)
    assert content["hale"]["rotl"] == {"found": 'by "hand"', **values}

"""A recipe from a file: what it brings along, and what is wrong with one that does not."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from hale.data.graph import Graph
from hale.errors import HaleWarning, InputError
from hale.runs.systems import complete
from hale.settings.recipes.from_file import chosen_by_file, read_given_recipe

RECIPE = """
entities = 24
train = 40
dim = 6

[hale.rote]
found = "by hand"
gamma = 7.5
batch_size = 16

[hale.rote.long]
seconds = 100
gamma = 8.5
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(RECIPE)
    return tmp_path / "mine.toml"


def test_model_strategy_and_dim_come_along(recipe: Path, graph: Graph) -> None:
    assert (len(graph.entities), len(graph.train)) == (24, 40)
    settings = complete(graph, recipe=recipe, epochs=1)
    assert (settings.model, settings.strategy, settings.dim) == ("rote", "hale", 6)
    assert (settings.gamma, settings.batch_size, settings.queries) == (7.5, 16, 16)
    assert settings.recipe == str(recipe)
    assert complete(graph, recipe=str(recipe), budget="2m").gamma == 8.5
    assert settings.model_fields_set == {"recipe", "epochs"}


def test_what_is_given_goes_before_the_file(recipe: Path, graph: Graph) -> None:
    settings = complete(graph, recipe=recipe, gamma=3.0, dim=8, model="rote")
    assert (settings.gamma, settings.dim) == (3.0, 8)
    with pytest.raises(InputError, match="no settings for model rotl; it has .* hale with rote"):
        complete(graph, recipe=recipe, model="rotl")
    with pytest.raises(InputError, match="no settings for strategy allneg and model rote"):
        complete(graph, recipe=recipe, model="rote", strategy="allneg")


def test_another_graph_is_warned_of(recipe: Path, graph: Graph) -> None:
    smaller = replace(graph, train=graph.train[1:])
    with pytest.warns(HaleWarning, match="24 entities and 40 training .* has 24 and 39"):
        complete(smaller, recipe=recipe)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complete(recipe=recipe)  # before there is a graph


def test_of_several_tables_the_one_that_agrees(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text("entities = 1\ntrain = 1\n[hale.any]\ngamma = 5\n[allneg.complex]\n")
    assert chosen_by_file(file, {}) == {}
    assert chosen_by_file(file, {"strategy": "hale"}) == {"strategy": "hale"}
    assert chosen_by_file(file, {"strategy": "hale", "model": "rote"}) == {"strategy": "hale"}
    only = chosen_by_file(file, {"strategy": "allneg"})
    assert only == {"strategy": "allneg", "model": "complex"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("entities = ", "cannot be read as a recipe"),
        ("entities = " + "[" * 10_000, "cannot be read as a recipe"),
        ("[hale.rotl]\ngamma = 3", "entities is a whole number, got None; train is"),
        ("entities = 1\ntrain = 2\n", "no table of settings"),
        ("entities = 1\ntrain = 2\ndim = 0\n[hale.any]\n", "dim is a whole number from 1 on"),
        (
            "entities = 1\ntrain = 2\n[hale.rotl.long]\ngamma = 8\n",
            r"\[hale.rotl.long\] says .* as in seconds = 300, got None",
        ),
        (
            'entities = 1\ntrain = 2\n[hale.any.long]\nseconds = "5m"\n',
            r"\[hale.any.long\] says .* got '5m'",
        ),
        ("entities = 1\ntrain = 2\n[hale.any]\nlong = 5\n", "says from which budget on"),
    ],
)
def test_what_is_no_recipe(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_given_recipe(tmp_path / "x.toml")
    with pytest.raises(InputError, match=r"auto, paper, none or a file .* there is no such file"):
        read_given_recipe(tmp_path / "y.toml")

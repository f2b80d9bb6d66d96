"""Recipes: tuned settings per data set, strategy and model, and a rule for graphs without one.

A data set's file has a table per strategy and model, `[hale.rotl]`, with the settings that were
found and, under `found`, how; `[hale.any]` has what a model's own table leaves out. Below either,
`[hale.rotl.long]` has what a run with a budget of at least `seconds` takes in its place.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hale.errors import InputError
from hale.settings.recipes.rule import GraphCounts, by_rule

FOLDER = Path(__file__).parent
NAMES = ("auto", "paper", "none")
NO_SETTINGS = ("found", "long", "seconds")  # of a table


@cache
def recipe_files() -> dict[str, Path]:
    """The data sets that have a recipe."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml")) if path.stem != "paper"}


@cache
def read_recipe(path: Path) -> Mapping[str, Any]:
    """The tables of one file."""
    with path.open("rb") as file:
        return tomllib.load(file)


def tuned(
    graph: GraphCounts, strategy: str, model: str, budget: float | None = None
) -> dict[str, object]:
    """The settings tuned for this graph, by its name and size; none where there are none."""
    path = recipe_files().get(graph.name)
    if path is None:
        return {}
    content = read_recipe(path)
    if content["entities"] != graph.num_entities or content["train"] != graph.num_train:
        return {}
    return settings_in(content, strategy, model, budget)


def recipe_for(
    graph: GraphCounts,
    strategy: str,
    model: str,
    budget: float | None = None,
    epochs: float | None = None,
) -> dict[str, object]:
    """The settings tuned for this graph, or else the rule's."""
    found = tuned(graph, strategy, model, budget)
    if found or strategy != "hale":
        return found
    return by_rule(graph, epochs)


def paper_recipe(strategy: str, model: str) -> dict[str, object]:
    """Settings as the paper has them, from its grids where it does not say which."""
    return settings_in(read_recipe(FOLDER / "paper.toml"), strategy, model)


def recipe_values(
    name: str,
    graph: GraphCounts | None,
    strategy: str,
    model: str,
    *,
    budget: float | None = None,
    epochs: float | None = None,
) -> dict[str, object]:
    """What a recipe says: 'auto' the graph's own or the rule's, 'paper' the paper's, 'none'.

    ``budget`` is the time of the run in seconds, if it has one, and ``epochs`` how many that makes,
    if it is known.
    """
    if name not in NAMES:
        raise InputError(f"A recipe is one of {', '.join(NAMES)}, got {name!r}.")
    if name == "paper":
        return paper_recipe(strategy, model)
    if name == "auto" and graph is not None:
        return recipe_for(graph, strategy, model, budget, epochs)
    return {}


def settings_in(
    content: Mapping[str, Any], strategy: str, model: str, budget: float | None = None
) -> dict[str, object]:
    """What a file has for a strategy and a model; the model's own goes before what all have."""
    tables = content.get(strategy, {})
    chosen: dict[str, object] = {}
    for table in (tables.get("any", {}), tables.get(model, {})):
        chosen |= table
        long = table.get("long")
        if long and budget is not None and budget >= long["seconds"]:
            chosen |= long
    return {name: value for name, value in chosen.items() if name not in NO_SETTINGS}

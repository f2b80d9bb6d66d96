"""Recipes: tuned settings per data set, strategy and model, and a rule for graphs without one.

A data set's file has a table per strategy and model, `[hale.rotl]`, with the settings that were
found and, under `found`, how; `[hale.any]` has what a model's own table leaves out. Below either,
`[hale.rotl.long]` has what a run with a budget of at least `seconds` takes in its place.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hale.errors import HaleWarning
from hale.settings.recipes.from_file import chosen_by_file, read_given_recipe
from hale.settings.recipes.rule import GraphCounts, by_rule

FOLDER = Path(__file__).parent
NAMES = ("auto", "paper", "none")
# Of a table: how it came about.
NO_SETTINGS = frozenset(
    {"found", "seconds", "trials", "trial", "space", "threads", "epochs", "machine", "commit"}
    | {"cpu_share", "model_revision"}
)


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
    graph: GraphCounts,
    strategy: str,
    model: str,
    budget: float | None = None,
    kinds: Collection[str] = (),
) -> dict[str, object]:
    """The settings tuned for this graph, by its name and size; none where there are none."""
    path = recipe_files().get(graph.name)
    if path is None:
        return {}
    content = read_recipe(path)
    if content["entities"] != graph.num_entities or content["train"] != graph.num_train:
        return {}
    return settings_in(content, strategy, model, budget, kinds)


def recipe_for(
    graph: GraphCounts,
    strategy: str,
    model: str,
    budget: float | None = None,
    epochs: float | None = None,
    kinds: Collection[str] = (),
) -> dict[str, object]:
    """The settings tuned for this graph, or else the rule's."""
    found = tuned(graph, strategy, model, budget, kinds)
    if found or strategy != "hale":
        return found
    return by_rule(graph, epochs)


def paper_recipe(strategy: str, model: str) -> dict[str, object]:
    """Settings as the paper has them, from the middle of its grids where it does not say which."""
    return settings_in(read_recipe(FOLDER / "paper.toml"), strategy, model)


def recipe_values(
    name: str,
    graph: GraphCounts | None,
    strategy: str,
    model: str,
    *,
    budget: float | None = None,
    epochs: float | None = None,
    kinds: Collection[str] = (),
) -> dict[str, object]:
    """What a recipe says: 'auto' the graph's own or the rule's, 'paper' the paper's, 'none'.

    Any other name is that of a file, whose settings are taken for any graph; if it was found on
    one of another size, that is warned of. ``budget`` is the time of the run in seconds, if it
    has one, and ``epochs`` how many that makes, if it is known. ``kinds`` are what else a system
    may have a table by: its dimension ('d256') and an activation that is not its usual one.
    """
    if name not in NAMES:
        content = read_given_recipe(Path(name))
        _warn_of_size(name, content, graph)
        return settings_in(content, strategy, model, budget, kinds)
    if name == "paper":
        return paper_recipe(strategy, model)
    if name == "auto" and graph is not None:
        return recipe_for(graph, strategy, model, budget, epochs, kinds)
    return {}


def named_recipe(name: str) -> tuple[Path, Mapping[str, Any]]:
    """The recipe of a data set, the paper's, or that of a file, with the path of its file."""
    shipped = {**recipe_files(), "paper": FOLDER / "paper.toml"}
    if name in shipped:
        return shipped[name], read_recipe(shipped[name])
    return Path(name), read_given_recipe(Path(name))


def chosen_by(name: str, given: Mapping[str, object]) -> dict[str, object]:
    """The model, strategy and dim that a recipe brings along, if it is a file."""
    return {} if name in NAMES else chosen_by_file(Path(name), given)


def _warn_of_size(name: str, content: Mapping[str, Any], graph: GraphCounts | None) -> None:
    if graph is not None and (graph.num_entities, graph.num_train) != (
        content["entities"],
        content["train"],
    ):
        warnings.warn(
            f"the recipe {name} was found on a graph of {content['entities']:,} entities and "
            f"{content['train']:,} training facts; this one has {graph.num_entities:,} and "
            f"{graph.num_train:,}, so it is a start and not tuned",
            HaleWarning,
            stacklevel=2,
        )


def settings_in(
    content: Mapping[str, Any],
    strategy: str,
    model: str,
    budget: float | None = None,
    kinds: Collection[str] = (),
) -> dict[str, object]:
    """What a file has for a strategy and a model; the model's own goes before what all have.

    A table may have tables of its own: for a long budget, and for kinds of the system.
    """
    tables = content.get(strategy, {})
    chosen: dict[str, object] = {}
    for table in (tables.get("any", {}), tables.get(model, {})):
        chosen |= table
        long = table.get("long")
        if long and budget is not None and budget >= long["seconds"]:
            chosen |= long
        for kind in kinds:
            chosen |= table.get(kind, {})
    return {
        name: value
        for name, value in chosen.items()
        if name not in NO_SETTINGS and not isinstance(value, Mapping)
    }

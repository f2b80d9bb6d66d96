"""Recipe file: what a search found, as a recipe that can be shipped."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from hale.data.files import write_text
from hale.data.graph import Graph
from hale.runs.systems import unused
from hale.settings import Settings, make_settings

if TYPE_CHECKING:
    from hale.training.tune.search import Tuned

NOT_TUNED = {
    *("recipe", "model", "strategy", "dim", "seed", "threads", "device", "precision"),
    *("budget", "epochs", "patience", "validate_every", "validation_sample"),
}


def recipe_of(settings: Settings, searched: Collection[str]) -> dict[str, object]:
    """The settings that a recipe has to name: those searched, and all that are not general.

    A searched one is named even where it is the general default: a strategy, a model or the rest
    of a recipe could have another.
    """
    general = make_settings().model_dump()
    idle = NOT_TUNED | unused(settings.model, settings.strategy).keys()
    return {
        name: value
        for name, value in settings.model_dump(exclude=idle).items()
        if name in searched or (value is not None and value != general[name])
    }


def recipe_text(graph: Graph, model: str, tuned: Tuned, how: str, dim: int) -> str:
    """A recipe that hale train takes (--recipe FILE), with tables as in hale/settings/recipes."""
    lines = [f"[{tuned.strategy}.{model}]", f"found = {json.dumps(how)}"]
    for name, value in tuned.values.items():
        lines.append(f"{name} = {_shown(value)}")
    counts = {"entities": len(graph.entities), "train": len(graph.train), "dim": dim}
    head = [f"{name} = {count}" for name, count in counts.items()]
    return "\n".join([*head, "", *lines, ""])


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else json.dumps(value)


def write_recipe(target: Path, text: str) -> None:
    """Write a recipe file, whole or not at all."""
    write_text(target, text)

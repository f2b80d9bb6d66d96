"""Searches: every row of a table has its settings by the same number of trials of the same time.

What a search finds is written into the recipe of its data set, as the table of its strategy and
model (and dimension, or activation, where that is another); `hale train` takes it from there too. A
row with nothing beyond the paper is searched inside the paper's grid, and written into the paper's
recipe under the data set's name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hale.data.files import write_text
from hale.lab.paper.cells import Cell, load_quietly
from hale.objectives import objective_class
from hale.runs.score_kind import recipe_kinds
from hale.settings.recipes import FOLDER, Searched, read_recipe, recipe_files, searched_in
from hale.training.tune.search import Tuned, tune

TRIALS = 12
# Seconds of a trial: as long as those that HaLE's own recipes were found by.
TRIAL_SECONDS = {
    "wn18rr": 30.0,
    "fb15k-237": 45.0,
    "codex-s": 30.0,
    "codex-m": 45.0,
    "codex-l": 45.0,
    "wikidata-83k": 45.0,
}
LOW = 32  # the dimension of a system's own table; others have one by their kind
# What a search holds fixed of a row; all else that a row changes is taken from HaLE's own settings.
HELD = ("activation", "relation_scale", "square", "beta")
AWAY = {"square", "relation_scale"}  # taken from HaLE alone: a row that keeps its other settings


@dataclass(frozen=True)
class Search:
    """The search behind a row."""

    dataset: str
    strategy: str
    model: str
    dim: int
    recipe: str  # auto or paper
    held: tuple[tuple[str, object], ...] = ()

    @property
    def kinds(self) -> list[str]:
        """Which table of the recipe it fills, beside strategy and model."""
        values = dict(self.held) | ({} if self.dim == LOW else {"dim": self.dim})
        return recipe_kinds(values, objective_class(self.strategy))

    @property
    def table(self) -> str:
        """The name of that table."""
        parts = [self.strategy, self.model, *self.kinds]
        if self.recipe == "paper":
            parts = [f'"{self.dataset}"', *parts]
        return ".".join(parts)

    @property
    def key(self) -> str:
        """The name of its folder."""
        kinds = "".join(f"-{kind}" for kind in self.kinds)
        recipe = "" if self.recipe == "auto" else f"-{self.recipe}"
        return f"{self.dataset}-{self.strategy}-{self.model}{kinds}-{self.dim}{recipe}"

    @property
    def trial(self) -> float:
        """Seconds of a trial."""
        return TRIAL_SECONDS[self.dataset]

    @property
    def seconds(self) -> float:
        """What it takes at most, without validation."""
        return TRIALS * self.trial

    def file(self, folder: Path = FOLDER) -> Path:
        """The recipe that it is written into."""
        return folder / f"{'paper' if self.recipe == 'paper' else self.dataset}.toml"

    def record(self, folder: Path = FOLDER) -> Searched | None:
        """The search that the recipe tells of, if there was one."""
        path = self.file(folder)
        if not path.is_file():
            return None
        content = read_recipe(path)
        if self.recipe == "paper":
            content = content.get(self.dataset, {})
        return searched_in(content, self.strategy, self.model, self.kinds)

    def is_done(self, folder: Path = FOLDER) -> bool:
        """Whether the recipe's settings come from a search that is no smaller than the others'."""
        found = self.record(folder)
        return found is not None and found.trials >= TRIALS and found.trial >= self.trial


def search_of(cell: Cell) -> Search | None:
    """The search behind a cell; None where it has the settings of another but for one thing."""
    values = dict(cell.values)
    strategy, model = str(values.pop("strategy")), str(values.pop("model"))
    if not objective_class(strategy).space:
        return None
    changed = values.keys() - set(HELD)
    if (changed - AWAY) or (values.keys() & AWAY and "activation" not in values):
        return None
    held = tuple((name, values[name]) for name in HELD if name in values)
    return Search(cell.dataset, strategy, model, cell.dim, cell.recipe, held)


def run_search(
    search: Search,
    *,
    work: Path,
    folder: Path = FOLDER,
    announce: Callable[[str], None] | None = None,
) -> Tuned:
    """Search, or go on with it, and write what was found into its recipe."""
    graph = load_quietly(search.dataset)
    held: dict[str, Any] = dict(search.held)
    if search.recipe != "auto":
        held["recipe"] = search.recipe
    found = tune(
        graph,
        out=work / "searches" / search.key,
        budget=math.inf,
        trials=TRIALS,
        trial_seconds=search.trial,
        model=search.model,
        strategy=search.strategy,
        dim=search.dim,
        announce=announce,
        **held,
    )
    head = f"entities = {len(graph.entities)}\ntrain = {len(graph.train)}\n"
    path = search.file(folder)
    text = path.read_text(encoding="utf-8") if path.is_file() else head
    write_text(path, with_table(text, search.table, _lines(search, found)))
    read_recipe.cache_clear()
    recipe_files.cache_clear()
    return found


def _lines(search: Search, found: Tuned) -> list[str]:
    start = "" if found.start is None else f", {found.start:.4f} where it began"
    how = (
        f"hale reproduce --tune ({search.key}): best of {found.trials} trials of "
        f"{search.trial:g} s ({found.pruned} given up), validation MRR {found.mrr:.4f}{start}"
    )
    values = {name: value for name, value in found.values.items() if name not in dict(search.held)}
    told = {"found": how, "trials": found.trials, "trial": search.trial, **values}
    return [
        f"{name} = {f'{value:.4g}' if isinstance(value, float) else json.dumps(value)}"
        for name, value in told.items()
    ]


def with_table(text: str, name: str, lines: list[str]) -> str:
    """The text of a recipe with one table put in, or in place of the one of that name."""
    kept, inside = [], False
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("["):
            inside = line.strip() == f"[{name}]"
        if not inside:
            kept.append(line)
    while kept and not kept[-1]:
        kept.pop()
    return "\n".join([*kept, "", f"[{name}]", *lines, ""])

"""Cells: one system trained on one graph for one time, as a file that says all about it.

Finished cells are run again only if they are stale: made with other settings than they would get
now, with an earlier form of their strategy's loss or of their model, or ranked otherwise.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from hale.data.datasets import load
from hale.data.graph import Graph
from hale.errors import HaleWarning
from hale.evaluation.ranking_revision import RANKING_REVISION
from hale.lab.paper.damaged import read_or_miss
from hale.lab.paper.searches import AUTHORS, PAPER, SEARCHED, search_of
from hale.models import model_class
from hale.objectives import objective_class
from hale.objectives.scoring import activation_of
from hale.runs.systems import complete, unused
from hale.settings import Settings, make_settings
from hale.settings.recipes import read_recipe, recipe_files, settings_in

# Validation triples that choose the state of a run which is compared, for fast and slow ones alike.
SAMPLES = {
    "wn18rr": 3034,
    "fb15k-237": 2500,
    "codex-s": 1827,
    "codex-m": 2500,
    "codex-l": 2500,
    "wikidata-83k": 2500,
}


@dataclass(frozen=True)
class Same:
    """The value that another setting has by the recipe, at whatever share of the time."""

    name: str


@dataclass(frozen=True)
class Cell:
    """A system on a data set: what is trained, and for how long at full time."""

    dataset: str
    system: str  # 'hale-rotl', with what differs from it: 'hale-rotl-no-square'
    dim: int
    seconds: float
    values: tuple[tuple[str, object], ...]  # settings by name
    recipe: str = SEARCHED
    part: bool = False  # whether it takes a part from the row that has all

    def key(self, seed: int, scale: float) -> str:
        """The name of its file: data set, system, dimension, seed and share of the time."""
        recipe = "" if self.recipe == SEARCHED else f"-{self.recipe}"
        return f"{self.dataset}-{self.system}-{self.dim}{recipe}-s{seed}-x{scale:g}"

    def settings(self, seed: int, scale: float) -> dict[str, object]:
        """What train() is asked for."""
        budget, recipe = self.seconds * scale, self.recipe
        search, values = search_of(self), dict(self.values)
        if recipe in (SEARCHED, PAPER, AUTHORS):
            found = {} if search is None else search.values()
            values = {"validation_sample": SAMPLES.get(self.dataset), **found, **values}
        if recipe in (SEARCHED, AUTHORS):
            recipe = "none"
        for name, value in values.items():
            if isinstance(value, Same):
                values[name] = self._by_recipe(budget)[value.name]
        return {
            **values,
            "recipe": recipe,
            "dim": self.dim,
            "seed": seed,
            "budget": budget,
        }

    def _by_recipe(self, budget: float) -> dict[str, object]:
        """What the data set's recipe of `hale train` has for the system under a budget."""
        content, values = read_recipe(recipe_files()[self.dataset]), dict(self.values)
        return settings_in(content, str(values["strategy"]), str(values["model"]), budget)


@dataclass(frozen=True)
class Filled:
    """What a cell's file holds."""

    key: str
    dataset: str
    system: str
    dim: int
    recipe: str
    seed: int
    scale: float
    full_seconds: float
    version: str
    machine: Mapping[str, Any]
    settings: Mapping[str, Any]
    training: Mapping[str, Any]
    curve: list[dict[str, float]]
    metrics: Mapping[str, float]  # of the test split, filtered, both directions, no entity its own
    finished: str  # when, by the clock of the machine
    commit: str  # of the code; nothing where it ran from no checkout
    revision: int  # of the strategy's loss
    plain: Mapping[str, float]  # as the metrics by scores alone: an entity may be its own
    ruled: Mapping[str, float] | None  # as the metrics by the cardinality rule beside
    valid: Mapping[str, float]  # as the metrics, of all validation triples
    valid_plain: Mapping[str, float] | None = None  # the same by scores alone
    model_revision: int = 1
    ranking_revision: int = 1
    cpu_share: float | None = None  # of its threads' time that training had, if in one go

    @property
    def threads(self) -> int:
        """How many it was trained on."""
        return int(self.training.get("threads") or 0)

    def same_settings(self, other: Filled) -> bool:
        """Whether two cells differ by their seeds only."""
        mine, others = (make_settings(**{**cell.settings, "seed": 0}) for cell in (self, other))
        return train_alike(mine, others)


def is_current(cell: Cell, filled: Filled) -> bool:
    """Whether a finished cell is what would be made now: its settings, loss, model and ranks."""
    strategy, model = (str(filled.settings[name]) for name in ("strategy", "model"))
    made = filled.revision, filled.model_revision, filled.ranking_revision
    now = objective_class(strategy).revision, model_class(model).revision, RANKING_REVISION
    if made != now:
        return False
    if filled.valid_plain is None and cell.recipe != "auto":  # the paper's tables judge by it
        return False
    asked = complete(load_quietly(cell.dataset), **cell.settings(filled.seed, filled.scale))
    return train_alike(asked, make_settings(**filled.settings))


def train_alike(one: Settings, other: Settings) -> bool:
    """Whether two settings make the same weights: what their strategy does not use does not count,
    nor what only ranks, a bound or a slope that the activation lacks, or the power of no penalty.
    """
    idle = {*unused(one.model, one.strategy), "cardinality"}
    has = {field.name for field in fields(activation_of(one))}
    idle |= {"gamma", "beta"} - has
    if "gamma" not in has:
        idle |= {"gamma_start", "gamma_two_way"}
    if not one.penalty:
        idle.add("penalty_power")
    return one.model_dump(exclude=idle) == other.model_dump(exclude=idle)


@lru_cache(maxsize=1)
def load_quietly(name: str) -> Graph:
    """A data set by its name, its notes left to those who load it by hand."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HaleWarning)
        return load(name)


def read_cells(folder: Path) -> dict[str, Filled]:
    """All finished cells of a folder, by key; a damaged file is told of, and left out."""
    found = (read_or_miss(path, _cell_in) for path in sorted(folder.glob("*.json")))
    return {filled.key: filled for filled in found if filled is not None}


def _cell_in(path: Path) -> Filled | None:
    """The cell that a file holds; None where it holds something else, as points are."""
    content = json.loads(path.read_text(encoding="utf-8"))
    names = {field.name for field in fields(Filled)}
    needed = {field.name for field in fields(Filled) if field.default is MISSING}
    if not needed <= content.keys() <= names:
        return None
    filled = TypeAdapter(Filled).validate_python(content)
    if filled.key != path.stem:
        raise ValueError(f"it holds the cell {filled.key}")
    settings = make_settings(**filled.settings)
    objective_class(settings.strategy), model_class(settings.model)
    machine, training = filled.machine, filled.training
    told = [training["seconds"], training.get("epochs", 0.0)]
    told += [training.get("validation_seconds") or 0.0]
    tables = filled.metrics, filled.plain, filled.ruled, filled.valid, filled.valid_plain
    told += [table["mrr"] for table in tables if table is not None]
    told += [point[name] for point in filled.curve for name in ("seconds", "hits@10")]
    some = training.get("threads"), machine.get("load"), machine.get("cpu_share")
    told += [one for one in some if one is not None]
    if not all(isinstance(one, int | float) for one in told):
        raise TypeError("a time or figure is no number")
    return filled

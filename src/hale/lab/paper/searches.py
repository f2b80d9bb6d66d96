"""Searches: every row of a table has its settings by as many trials of the same time.

A search begins at what suits its strategy and model in general, without any recipe, HaLE's too, and
what it finds is written into searched/DATASET.toml beside this file, a table a search. The rows of
the tables have their settings from there and from nowhere else: the recipes of `hale train` know
what was found by hand, which no rival has, so they have no part in a comparison. A row whose search
is missing has its strategy's defaults, and is marked. Rows with nothing beyond the paper are
searched inside the paper's grid, and written into the paper's recipe under the data set's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hale.models import model_class
from hale.objectives import objective_class
from hale.runs.score_kind import recipe_kinds
from hale.settings.recipes import NO_SETTINGS, read_recipe, searched_in
from hale.training.tune.points import digest_of

if TYPE_CHECKING:
    from hale.lab.paper.cells import Cell

HOME = Path(__file__).parents[2]  # of the package
SEARCHED = "searched"  # the recipe of rows that have their settings by a search
TRIALS = 12
# Seconds of a trial.
TRIAL_SECONDS = {
    "wn18rr": 30.0,
    "fb15k-237": 45.0,
    "codex-s": 30.0,
    "codex-m": 45.0,
    "codex-l": 45.0,
    "wikidata-83k": 45.0,
}
LOW = 32  # the dimension of a system's own table in the paper's recipe; others have one by kind
# What a search holds fixed of a row; what else a row changes it takes from the row with all parts.
HELD = ("activation", "relation_scale", "square", "beta")
WHOLE = (("square", True),)  # the search of the row that an ablation takes one part from


@dataclass(frozen=True)
class Search:
    """The search behind a row."""

    dataset: str
    strategy: str
    model: str
    dim: int
    recipe: str  # searched or paper
    held: tuple[tuple[str, object], ...] = ()

    @property
    def kinds(self) -> list[str]:
        """What it has beside strategy and model: an activation, the square, a dimension."""
        values = dict(self.held)
        if self.recipe == SEARCHED:
            square = ["square"] if values.get("square") else []
            return [str(values["activation"]), *square] if "activation" in values else square
        values |= {} if self.dim == LOW else {"dim": self.dim}
        return recipe_kinds(values, objective_class(self.strategy))

    @property
    def table(self) -> str:
        """The name of the table that it fills."""
        if self.recipe == SEARCHED:
            return "-".join([self.strategy, self.model, *self.kinds, str(self.dim)])
        return ".".join([f'"{self.dataset}"', self.strategy, self.model, *self.kinds])

    @property
    def key(self) -> str:
        """The name of its folder."""
        if self.recipe == SEARCHED:
            return f"{self.dataset}-{self.table}"
        parts = [self.dataset, self.strategy, self.model, *self.kinds, str(self.dim), self.recipe]
        return "-".join(parts)

    @property
    def trial(self) -> float:
        """Seconds of a trial."""
        return TRIAL_SECONDS[self.dataset]

    @property
    def seconds(self) -> float:
        """What it takes at most, without validation."""
        return TRIALS * self.trial

    def file(self, home: Path | None = None) -> Path:
        """The file that it is written into, of a package at ``home``."""
        if self.recipe == SEARCHED:
            return (home or HOME) / "lab" / "paper" / "searched" / f"{self.dataset}.toml"
        return (home or HOME) / "settings" / "recipes" / "paper.toml"

    @property
    def space(self) -> str:
        """A digest of what it may move: a search of another space was not made like the others."""
        strategy, model = objective_class(self.strategy), model_class(self.model)
        return digest_of(strategy.space, model.space)

    def is_done(self, home: Path | None = None) -> bool:
        """Whether it was made, in its space, by as many trials of the same time as all others."""
        path = self.file(home)
        if not path.is_file():
            return False
        if self.recipe == SEARCHED:
            table = read_recipe(path).get(self.table, {})
            made = table.get("trials"), table.get("trial"), table.get("space")
            return made == (TRIALS, self.trial, self.space)
        content = read_recipe(path).get(self.dataset, {})
        found = searched_in(content, self.strategy, self.model, self.kinds)
        return found is not None and (found.trials, found.trial) == (TRIALS, self.trial)

    def values(self, home: Path | None = None) -> dict[str, object]:
        """The settings that it found, with those that it held; these alone where it is missing.

        What an earlier search found in another space stands until it is made again: its row is
        marked, and need not be trained twice.
        """
        table: Mapping[str, Any] = {}
        if self.recipe == SEARCHED and self.file(home).is_file():
            table = read_recipe(self.file(home)).get(self.table, {})
        found = {name: value for name, value in table.items() if name not in NO_SETTINGS}
        return {**found, **dict(self.held)}


def search_of(cell: Cell) -> Search | None:
    """The search that a cell has its settings from; None under other recipes.

    What takes a part from HaLE is trained with the settings of the row that has all parts; what
    has another activation is searched by itself.
    """
    values = dict(cell.values)
    strategy, model = str(values.pop("strategy")), str(values.pop("model"))
    if cell.recipe not in (SEARCHED, "paper") or not objective_class(strategy).space:
        return None
    held = tuple((name, values[name]) for name in HELD if name in values)
    if held and "activation" not in values:
        held = WHOLE if cell.recipe == SEARCHED else ()
    if values.keys() - set(HELD):
        return None
    return Search(cell.dataset, strategy, model, cell.dim, cell.recipe, held)

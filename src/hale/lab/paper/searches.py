"""Searches: every row of a table has its settings by as many trials of the same time.

A search begins at what suits its strategy and model in general, without any recipe, HaLE's too;
then it tries what the strategy's authors train with, some steps, and draws the rest (see
``training.tune``). What it finds is written into searched/DATASET.toml beside this file, a table a
search. The rows of the tables have their settings from there and from nowhere else: the recipes of
`hale train` know what was found by hand, which no rival has, so they have no part in a comparison.
A row whose search is missing has its strategy's defaults, and is marked.

A row that takes one part from another has that row's settings, but for the weight of alignment and
the learning rate, which are searched again, by as many trials: what suits a loss with all its parts
need not suit it without one. Rows with nothing beyond the paper are searched inside its grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hale.models import model_class
from hale.objectives import objective_class
from hale.settings.recipes import NO_SETTINGS, read_recipe
from hale.training.tune.points import BOUNDS, MARGIN, digest_of

if TYPE_CHECKING:
    from hale.lab.paper.cells import Cell

HOME = Path(__file__).parents[2]  # of the package
SEARCHED = "searched"  # the recipe of rows that have their settings by a search
PAPER = "paper"  # that of rows with nothing beyond the paper
AUTHORS = "authors"  # that of rows whose settings are what a strategy's authors train with
TRIALS = 12
THREADS = 1  # of each trial
# Seconds of a trial.
TRIAL_SECONDS = {
    "wn18rr": 30.0,
    "fb15k-237": 45.0,
    "codex-s": 30.0,
    "codex-m": 45.0,
    "codex-l": 45.0,
    "wikidata-83k": 45.0,
}
SAMPLE = 1000  # validation triples that judge a trial
# What a search holds fixed of a row.
HELD = ("activation", "relation_scale", "square", "beta")
WHOLE = (("square", True),)  # of the row that an ablation takes one part from
AGAIN = ("weight", "learning_rate")  # what is searched again without that part


@dataclass(frozen=True)
class Search:
    """The search behind a row; ``part``: of one that takes a part from the row with all."""

    dataset: str
    strategy: str
    model: str
    dim: int
    recipe: str  # searched or paper
    held: tuple[tuple[str, object], ...] = ()
    part: bool = False

    @property
    def table(self) -> str:
        """The name of the table that it fills: hale-rotl-no-square-32."""
        held = dict(self.held)
        kinds = [str(held["activation"])] if "activation" in held else []
        if "square" in held:
            kinds.append("square" if held["square"] else "no-square")
        if held.get("relation_scale") is False:
            kinds.append("no-scale")
        first = [PAPER] if self.recipe == PAPER else []
        return "-".join([*first, self.strategy, self.model, *kinds, str(self.dim)])

    @property
    def key(self) -> str:
        """The name of its folder."""
        return f"{self.dataset}-{self.table}"

    @property
    def whole(self) -> Search | None:
        """The search of the row with all parts, which goes before; None of a row of its own."""
        return replace(self, held=WHOLE, part=False) if self.part else None

    @property
    def moves(self) -> tuple[str, ...]:
        """The settings that it moves; none named: all of the space."""
        return AGAIN if self.part else ()

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
        return (home or HOME) / "lab" / "paper" / "searched" / f"{self.dataset}.toml"

    def conditions(self, home: Path | None = None) -> dict[str, object]:
        """What must be told of a search that is like the others: under other ones it was not.

        ``space`` is a digest of what it may move, and of what strategy and model begin from.
        """
        strategy, model = objective_class(self.strategy), model_class(self.model)
        begins = strategy.defaults, strategy.by_dot, strategy.activated, strategy.published
        activated = dict(self.held).get("activation", "identity") != "identity"
        margin = (MARGIN,) if activated and "margin" in strategy.uses else ()
        spaces = strategy.space, strategy.paper_space, model.space, BOUNDS, *margin
        whole = None if self.whole is None else self.whole.values(home)
        space = digest_of(spaces, begins, model.defaults, strategy.revision, self.moves, whole)
        told = {"trials": TRIALS, "trial": self.trial, "threads": THREADS, "space": space}
        return told | {"model_revision": model.revision}

    def found(self, home: Path | None = None) -> Mapping[str, Any]:
        """The table that it filled; an empty one where it is missing.

        A search that held nothing has what this one looks for if it came to what this one holds.
        """
        path = self.file(home)
        tables = read_recipe(path) if path.is_file() else {}
        free = tables.get(replace(self, held=()).table, {})
        alike = not self.part and all(free.get(name) == value for name, value in self.held)
        found: Mapping[str, Any] = tables.get(self.table, free if alike else {})
        return found

    def cpu_share(self, home: Path | None = None) -> float | None:
        """How much of its threads' time a trial had at least, of this search and that of the whole.

        None where neither tells.
        """
        told = [self.found(home).get("cpu_share")]
        told += [] if self.whole is None else [self.whole.cpu_share(home)]
        return min((one for one in told if one is not None), default=None)

    def is_done(self, home: Path | None = None) -> bool:
        """Whether it was made, under the same conditions as all others."""
        if self.whole is not None and not self.whole.is_done(home):
            return False
        table = {"model_revision": 1, **self.found(home)}  # older ones are of the first
        return all(table.get(name) == value for name, value in self.conditions(home).items())

    def begin(self, home: Path | None = None) -> dict[str, object]:
        """The settings that it begins at, where those are another search's."""
        return {} if self.whole is None else self.whole.values(home)

    def values(self, home: Path | None = None) -> dict[str, object]:
        """The settings that it found, with those that it held; these alone where it is missing.

        What an earlier search found under other conditions stands until it is made again: its row
        is marked, and need not be trained twice.
        """
        found = {name: one for name, one in self.found(home).items() if name not in NO_SETTINGS}
        return {**self.begin(home), **found, **dict(self.held)}


def search_of(cell: Cell) -> Search | None:
    """The search that a cell has its settings from; None under other recipes."""
    values = dict(cell.values)
    strategy, model = str(values.pop("strategy")), str(values.pop("model"))
    if cell.recipe not in (SEARCHED, PAPER) or not objective_class(strategy).space:
        return None
    held = tuple((name, values[name]) for name in HELD if name in values)
    if values.keys() - set(HELD):
        return None
    return Search(cell.dataset, strategy, model, cell.dim, cell.recipe, held, cell.part)

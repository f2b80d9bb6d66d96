"""Declaration: what a table or a figure is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hale.lab.paper.cells import Cell
from hale.lab.paper.published import SECONDS, Figures
from hale.lab.paper.searches import SEARCHED

# Official files that are not always to be had, and what stands in for their scale.
STAND_INS = {"wikidata-83k": "codex-l"}

Judged = Literal["test", "validation", "alone"]


@dataclass(frozen=True)
class Entry:
    """A place in a table or figure, and the cell that fills it."""

    group: str
    row: str
    cell: Cell
    paper: Figures | None = None
    paper_is_full: bool = False  # the paper's figure is of a model trained without a limit


@dataclass(frozen=True)
class Experiment:
    """A table or a figure: of the paper, or beyond it."""

    name: str
    title: str
    kind: Literal["table", "curves", "points", "functions"]
    entries: tuple[Entry, ...] = ()
    # Rows are compared on test or on validation triples, or not at all.
    judged: Judged = "test"

    def select(
        self,
        datasets: tuple[str, ...] = (),
        models: tuple[str, ...] = (),
        strategies: tuple[str, ...] = (),
        systems: tuple[str, ...] = (),
    ) -> list[Entry]:
        """The entries of some data sets, models, strategies, systems; all where none is named."""
        chosen = []
        for entry in self.entries:
            values = dict(entry.cell.values)
            if datasets and entry.cell.dataset not in datasets:
                continue
            if models and values["model"] not in models:
                continue
            if strategies and values["strategy"] not in strategies:
                continue
            if systems and entry.cell.system not in systems:
                continue
            chosen.append(entry)
        return chosen


def cell(
    dataset: str,
    strategy: str,
    model: str,
    *,
    dim: int,
    variant: str = "",
    seconds: float | None = None,
    recipe: str = SEARCHED,
    part: bool = False,
    **changes: Any,
) -> Cell:
    """A cell by the names of its parts; ``changes`` are settings that differ.

    ``part``: it takes a part from the row that has all.
    """
    system = f"{strategy}-{model}" + (f"-{variant}" if variant else "")
    values = {"model": model, "strategy": strategy, **changes}
    full = SECONDS[STAND_INS.get(dataset, dataset)] if seconds is None else seconds
    return Cell(dataset, system, dim, full, tuple(values.items()), recipe, part)

"""The plan: which cells the page is to have, at which share of the time and with how many seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hale.errors import HaleError
from hale.lab.paper.cells import Cell, Filled, is_current
from hale.lab.paper.declaration import Entry
from hale.lab.paper.experiments import AS_IN_THE_PAPER, EXPERIMENTS, HIGH
from hale.lab.paper.searches import Search, search_of

SEEDS = 3
REDUCED = 0.25  # of the time, where a system does not have all of it
AVAILABLE = ("wn18rr", "fb15k-237", "codex-s", "codex-m", "wikidata-83k")  # codex-l is declared

State = Literal["finished", "missing", "stale", "unknown"]


@dataclass(frozen=True)
class Wanted:
    """A cell of the plan, and how it stands."""

    cell: Cell
    seed: int
    scale: float
    state: State
    fair: bool  # its settings come from a search like those of the other rows

    @property
    def key(self) -> str:
        """The name of its file."""
        return self.cell.key(self.seed, self.scale)

    @property
    def seconds(self) -> float:
        """Of training that it still takes."""
        return 0.0 if self.state == "finished" else self.cell.seconds * self.scale


def shares_of(experiment: str, entry: Entry) -> tuple[float, ...]:
    """The shares of its time that a place of a table or figure is to have.

    HaLE has both on codex-m, where the rivals that it meets have no more than the smaller one.
    """
    dataset, strategy = entry.cell.dataset, dict(entry.cell.values)["strategy"]
    hale = strategy == "hale"
    if experiment == "table3":
        full, reduced = True, False
    elif experiment == "table4":
        full = dataset == "codex-s" or (dataset == "codex-m" and hale)
        reduced = dataset == "codex-m" and hale
    elif experiment == "table5":
        full, reduced = dataset == "wn18rr", False
    else:
        full, reduced = experiment in ("figure3", "figure4", "best"), False
    if entry.group == AS_IN_THE_PAPER:
        reduced = False
    return (1.0, REDUCED) if full and reduced else (1.0,) if full else (REDUCED,)


def seeds_of(experiment: str, entry: Entry, scale: float) -> int:
    """Several where a table is judged by the system: RotL in Table 3, RotE in Table 4, by HaLE.

    And for all that is to be as good as can be; each at the full time.
    """
    if scale < 1:
        return 1
    values = dict(entry.cell.values)
    if experiment == "best":  # at d = 256 ComplEx is the better one
        return 1 if (entry.cell.dim, values["strategy"]) == (HIGH, "hale") else SEEDS
    judged = {"table3": "rotl", "table4": "rote"}.get(experiment)
    main = values["strategy"] == "hale" and values["model"] == judged
    return SEEDS if main and entry.group != AS_IN_THE_PAPER else 1


def planned() -> list[tuple[Cell, int, float]]:
    """The cells of the plan, each once, with seed and share."""
    found: dict[str, tuple[Cell, int, float]] = {}
    for name, experiment in EXPERIMENTS.items():
        for entry in experiment.entries:
            if entry.cell.dataset not in AVAILABLE:
                continue
            for scale in shares_of(name, entry):
                for seed in range(seeds_of(name, entry, scale)):
                    found.setdefault(entry.cell.key(seed, scale), (entry.cell, seed, scale))
    return [*found.values()]


def standing(finished: Mapping[str, Filled], home: Path | None = None) -> list[Wanted]:
    """How each cell of the plan stands, by data set, so that each is loaded once."""
    found = []
    for cell, seed, scale in sorted(planned(), key=lambda wanted: wanted[0].dataset):
        filled = finished.get(cell.key(seed, scale))
        state: State = "missing" if filled is None else state_of(cell, filled)
        found.append(Wanted(cell, seed, scale, state, is_searched(cell, home)))
    return found


def unplanned(finished: Mapping[str, Filled]) -> list[str]:
    """The finished cells that are in no plan, by key: no table shows them."""
    return sorted(finished.keys() - {cell.key(seed, scale) for cell, seed, scale in planned()})


def state_of(cell: Cell, filled: Filled) -> State:
    """Whether a finished cell still holds; unknown where its data set is not to be had."""
    try:
        return "finished" if is_current(cell, filled) else "stale"
    except HaleError:
        return "unknown"


def is_searched(cell: Cell, home: Path | None = None) -> bool:
    """Whether a cell has its settings by a search like those of the others, or needs none."""
    search = search_of(cell)
    return search is None or search.is_done(home)


def searches_left(home: Path | None = None) -> list[Search]:
    """The searches that rows of the plan still lack, each once."""
    found: dict[str, Search] = {}
    for cell, _, _ in planned():
        search = search_of(cell)
        if search is not None and not search.is_done(home):
            found.setdefault(search.key, search)
    return sorted(found.values(), key=lambda search: search.key)

"""Cells: one system trained on one graph for one time, as a file that says all about it.

A cell's training lives in a run folder of its own, so that a killed one goes on where it stopped;
when it is done, the cell's file is written at once and whole, with the ranks of its triples beside.
Finished cells are run again only if they are stale: made with other settings than they would get
now, with an earlier form of their strategy's loss, or before cells kept ranks.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from hale import __version__
from hale.data.datasets import load
from hale.data.files import make_folder, write_json
from hale.data.graph import Graph
from hale.errors import HaleWarning
from hale.evaluation.cardinality_rule import rule_of
from hale.evaluation.metrics import Metrics
from hale.evaluation.ranks import filtered_ranks
from hale.lab.bench.machine import machine
from hale.lab.paper.commit import commit_of_code
from hale.lab.paper.damaged import read_or_miss
from hale.lab.paper.rank_files import Floats, RankPair, write_ranks, write_triples
from hale.objectives import objective_class
from hale.runs.header import SETTINGS
from hale.runs.run import Run, load_run
from hale.runs.score_kind import not_in_nats
from hale.runs.systems import complete, unused
from hale.settings import Settings, make_settings
from hale.settings.recipes import read_recipe, recipe_files, settings_in
from hale.training.observer import Observer
from hale.training.start import train


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
    recipe: str = "auto"

    def key(self, seed: int, scale: float) -> str:
        """The name of its file: data set, system, dimension, seed and share of the time."""
        recipe = "" if self.recipe == "auto" else f"-{self.recipe}"
        return f"{self.dataset}-{self.system}-{self.dim}{recipe}-s{seed}-x{scale:g}"

    def settings(self, seed: int, scale: float) -> dict[str, object]:
        """What train() is asked for."""
        budget = self.seconds * scale
        values = dict(self.values)
        for name, value in values.items():
            if isinstance(value, Same):
                values[name] = self._by_recipe(budget)[value.name]
        return {
            **values,
            "recipe": self.recipe,
            "dim": self.dim,
            "seed": seed,
            "budget": budget,
        }

    def _by_recipe(self, budget: float) -> dict[str, object]:
        """What the data set's recipe has for the system under a budget."""
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
    metrics: Mapping[str, float]  # of the test split, filtered, both directions; by vectors alone
    finished: str  # when, by the clock of the machine
    commit: str = ""  # of the code
    revision: int = 1  # of the strategy's loss
    ruled: Mapping[str, float] | None = None  # the same metrics by the cardinality rule

    def is_of(self, cell: Cell) -> bool:
        """Whether this is the cell with some seed, at some share of its time."""
        mine = self.dataset, self.system, self.dim, self.recipe, self.full_seconds
        return mine == (cell.dataset, cell.system, cell.dim, cell.recipe, cell.seconds)

    def same_settings(self, other: Filled) -> bool:
        """Whether two cells differ by their seeds only."""
        mine, others = (make_settings(**{**cell.settings, "seed": 0}) for cell in (self, other))
        return train_alike(mine, others)


def fill(
    cell: Cell,
    *,
    seed: int,
    scale: float,
    folder: Path,
    work: Path,
    observer: Observer | None = None,
) -> Filled | None:
    """Train and evaluate a cell, or go on with it; None if it was interrupted."""
    run = trained(cell, seed=seed, scale=scale, work=work, observer=observer)
    if run.summary.stopped_by == "interrupt":
        return None
    found = ranked(run)
    filled = Filled(
        key=cell.key(seed, scale),
        dataset=cell.dataset,
        system=cell.system,
        dim=cell.dim,
        recipe=cell.recipe,
        seed=seed,
        scale=scale,
        full_seconds=cell.seconds,
        version=__version__,
        machine=machine(),
        settings=run.settings.model_dump(mode="json"),
        training=asdict(run.summary),
        curve=[
            {"step": record.step, "seconds": record.seconds, **dict(record.metrics)}
            for record in run.history
        ],
        metrics=_measured(run, found.alone),
        finished=datetime.now(tz=UTC).isoformat(timespec="seconds"),
        commit=commit_of_code(),
        revision=objective_class(run.settings.strategy).revision,
        ruled=None if found.ruled is None else _measured(run, found.ruled),
    )
    make_folder(folder)
    write_ranks(folder, filled.key, found)
    write_triples(folder, cell.dataset, run.graph)
    write_json(folder / f"{filled.key}.json", asdict(filled), indent=1)
    return filled


def ranked(run: Run) -> RankPair:
    """The ranks of a run's test triples, by its vectors alone and by the cardinality rule.

    The rule is shown with and without for every system that it goes with, whatever its own
    settings say, so that no row has what another lacks.
    """
    graph, known = run.graph, run.graph.known_answers
    queries = graph.both_directions(graph.test)
    ruled = None
    if not_in_nats(run.settings, run.model.similarity) is None:
        rule = rule_of(run, cardinality=True)
        ruled = filtered_ranks(run.model, queries, known, rule=rule)
    return RankPair(filtered_ranks(run.model, queries, known), ruled)


def _measured(run: Run, ranks: Floats) -> dict[str, float]:
    """Metrics of ranks, and the mean rank of a draw by lot among as many candidates."""
    graph = run.graph
    queries = graph.both_directions(graph.test)
    others = graph.known_answers.counts(queries[:, 0], queries[:, 1]) - 1
    by_lot = float((len(graph.entities) - others + 1).mean() / 2)
    return {**Metrics.of(ranks).as_dict(), "mean_rank_by_lot": by_lot}


def trained(
    cell: Cell, *, seed: int, scale: float, work: Path, observer: Observer | None = None
) -> Run:
    """The run of a cell: as it lies there, gone on with, or trained anew."""
    place = work / cell.key(seed, scale)
    graph = load_quietly(cell.dataset)
    settings = complete(graph, **cell.settings(seed, scale))
    if (place / SETTINGS).is_file():
        found = load_run(place)
        if train_alike(found.settings, settings):
            if found.summary.stopped_by in ("budget", "epochs", "patience"):
                return found
            return train(None, out=place, resume=True, observer=observer)
    return train(graph, settings, out=place, overwrite=True, observer=observer)


def is_current(cell: Cell, filled: Filled) -> bool:
    """Whether a finished cell has the settings that it would be given now, and today's loss."""
    if filled.revision != objective_class(str(filled.settings["strategy"])).revision:
        return False
    if "mean_rank_by_lot" not in filled.metrics:  # made before cells kept their ranks
        return False
    asked = complete(load_quietly(cell.dataset), **cell.settings(filled.seed, filled.scale))
    return train_alike(asked, make_settings(**filled.settings))


def train_alike(one: Settings, other: Settings) -> bool:
    """Whether two settings make the same weights: what their strategy does not use does not count,
    nor what only ranks.
    """
    idle = {*unused(one.model, one.strategy), "cardinality"}
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
    objective_class(make_settings(**filled.settings).strategy)
    told = [filled.training["seconds"], filled.training.get("epochs", 0.0), filled.metrics["mrr"]]
    told += [filled.training.get("validation_seconds") or 0.0]
    told += [point[name] for point in filled.curve for name in ("seconds", "hits@10")]
    if not all(isinstance(one, int | float) for one in told):
        raise TypeError("a time or figure is no number")
    return filled

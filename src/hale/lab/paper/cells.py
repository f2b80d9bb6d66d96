"""Cells: one system trained on one graph for one time, as a file that says all about it.

A cell's training lives in a run folder of its own, so that a killed one goes on where it stopped;
when it is done, the cell's file is written at once and whole. Finished cells are never run again.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from hale import __version__
from hale.data.datasets import load
from hale.data.files import write_json
from hale.data.graph import Graph
from hale.errors import HaleWarning
from hale.evaluation.evaluator import evaluate
from hale.lab.bench.machine import machine
from hale.runs.header import SETTINGS
from hale.runs.run import Run, load_run
from hale.runs.systems import complete, train_alike
from hale.settings import make_settings
from hale.training.observer import Observer
from hale.training.start import train


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
        return {
            **dict(self.values),
            "recipe": self.recipe,
            "dim": self.dim,
            "seed": seed,
            "budget": self.seconds * scale,
        }


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
    metrics: Mapping[str, float]  # of the test split, filtered, both directions
    finished: str  # when, by the clock of the machine

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
        metrics=evaluate(run, "test").overall.as_dict(),
        finished=datetime.now(tz=UTC).isoformat(timespec="seconds"),
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{filled.key}.json", asdict(filled), indent=1)
    return filled


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
    """Whether a finished cell has the settings that it would be given now."""
    asked = complete(load_quietly(cell.dataset), **cell.settings(filled.seed, filled.scale))
    return train_alike(asked, make_settings(**filled.settings))


@lru_cache(maxsize=1)
def load_quietly(name: str) -> Graph:
    """A data set by its name, its notes left to those who load it by hand."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HaleWarning)
        return load(name)


def read_cells(folder: Path) -> dict[str, Filled]:
    """All finished cells of a folder, by key."""
    found = {}
    names = {field.name for field in fields(Filled)}
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text())
        if content.keys() == names:
            found[content["key"]] = Filled(**content)
    return found

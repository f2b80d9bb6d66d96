"""Forecast: how many epochs a budget makes here, from a few timed steps.

What suits sixty epochs does not suit two. So where the rule fills settings in, a few steps are
timed first, and the rule is told how many epochs the time allows. Under ``epochs`` nothing is timed
and nothing depends on the clock.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from hale.data.graph import Graph
from hale.engine.memory import peak_mb
from hale.errors import HaleWarning
from hale.runs.systems import complete, rule_fills_in
from hale.settings import Settings
from hale.training.trainer import Trainer
from hale.training.validation_share import SHARE

ENOUGH = 10.0  # epochs below which a run is told to be short
WARM_UP = 3  # steps that are not counted: memory is first touched in them
LONGEST = 1.0  # seconds of timing
STEPS = 20  # of timing, at most


@dataclass(frozen=True)
class Forecast:
    """What training will take on this machine."""

    settings: Settings
    step_seconds: float
    steps_per_epoch: int
    memory_mb: float  # held at the most so far, with the graph and all tables

    @property
    def epoch_seconds(self) -> float:
        """Seconds of training an epoch."""
        return self.step_seconds * self.steps_per_epoch

    @property
    def epochs(self) -> float:
        """That the run will make: as asked for, or as the budget allows."""
        limits = []
        if self.settings.budget is not None:
            limits.append(self.settings.budget / self.epoch_seconds)
        if self.settings.epochs is not None:
            limits.append(float(self.settings.epochs))
        return min(limits, default=float("inf"))

    @property
    def seconds(self) -> float:
        """Of training, as far as it can be told: patience may end it sooner."""
        return self.epochs * self.epoch_seconds

    @property
    def validation_seconds(self) -> float | None:
        """What validation takes at most; None where no budget limits it."""
        return None if self.settings.budget is None else SHARE * self.seconds

    @property
    def enough_seconds(self) -> float:
        """A budget that makes ENOUGH epochs."""
        return ENOUGH * self.epoch_seconds

    @property
    def short(self) -> str | None:
        """In words, that the budget makes too few epochs, and what would do; None if it does."""
        if self.settings.budget is None or self.epochs >= ENOUGH:
            return None
        return (
            f"{self.settings.budget:g} s make about {self.epochs:.1f} epochs of this graph here, "
            f"and vectors take shape over {ENOUGH:g} or more: --budget "
            f"{rounded(self.enough_seconds)} would do, or a smaller --dim"
        )


def forecast(graph: Graph, given: Mapping[str, object]) -> Forecast:
    """Settings completed from what was ``given``, as ``train`` would, and what they will take."""
    found = _timed(graph, complete(graph, **given))
    if found.settings.budget is None or not rule_fills_in(graph, given):
        return found
    settings = complete(graph, found.epochs, **given)
    return found if settings == found.settings else _timed(graph, settings)


def suited(graph: Graph, given: Mapping[str, object]) -> Settings:
    """The settings that ``train`` takes; a budget that makes too few epochs is warned of.

    Steps are timed once: how long those of the settings that come of it take, nobody asks here.
    """
    settings = complete(graph, **given)
    if settings.budget is None or not rule_fills_in(graph, given):
        return settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HaleWarning)  # the run itself will tell
        found = _timed(graph, settings)
    if found.short:
        warnings.warn(found.short, HaleWarning, stacklevel=3)
    return complete(graph, found.epochs, **given)


def rounded(seconds: float) -> str:
    """A time as a person would give it, not below the seconds: 45s, 3m, 2h."""
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds > 2 * size:
            return f"{-int(-seconds // size)}{unit}"
    return f"{max(5, 5 * -int(-seconds // 5))}s"


def _timed(graph: Graph, settings: Settings) -> Forecast:
    trainer = Trainer(graph, settings, keep="last")
    times: list[float] = []
    began = time.perf_counter()
    for number in range(WARM_UP + STEPS):
        start = time.perf_counter()
        trainer._step()
        now = time.perf_counter()
        if number >= WARM_UP:
            times.append(now - start)
        if times and now - began > LONGEST:
            break
    return Forecast(
        settings=settings,
        step_seconds=statistics.median(times),
        steps_per_epoch=trainer.steps_per_epoch,
        memory_mb=peak_mb(),
    )

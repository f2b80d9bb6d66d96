"""Tracker: tells another program how a run goes."""

from __future__ import annotations

import importlib
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from hale.errors import HaleWarning, InputError, MissingExtraError
from hale.runs.run import Record, Summary
from hale.settings import Settings
from hale.training.stopping import Clock

# Losses between validations are told as often as this.
SECONDS_BETWEEN = 1.0


class Tracker(ABC):
    """An observer that writes down settings, losses, the learning rate and validation metrics.

    ``folder`` is the run's own, or one for what is tracked of a run in memory; ``step`` is the
    step that the run goes on from. Numbers are named loss/PART, valid/METRIC, learning_rate,
    epoch and seconds, and stand at their step.
    """

    needs: ClassVar[str]  # the module that must be there
    extra: ClassVar[str]  # the extra that installs it
    told = 0.0  # when losses were told last
    is_lost = False  # whether the other program failed

    def __init__(self, name: str, settings: Settings, folder: Path, *, step: int = 0) -> None:
        self.package()
        try:
            self.begin(name, settings.model_dump(mode="json"), folder, step)
        except Exception as error:
            raise InputError(f"Tracking by {self.extra} cannot begin: {error}") from error

    @classmethod
    def package(cls) -> Any:
        """The package that it writes with."""
        try:
            return importlib.import_module(cls.needs)
        except ImportError:
            raise MissingExtraError(f"Tracking by {cls.extra}", cls.extra) from None

    @abstractmethod
    def begin(self, name: str, settings: Mapping[str, Any], folder: Path, step: int) -> None:
        """Open the other program's run of that name."""

    @abstractmethod
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Write numbers down at a step."""

    @abstractmethod
    def end(self, summary: Summary | None) -> None:
        """Close it; without a summary, training ended in an error."""

    @classmethod
    @abstractmethod
    def where(cls, folder: Path) -> str:
        """The command that shows what was tracked of a run in that folder."""

    def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:  # noqa: ARG002
        """The losses, now and then."""
        now = time.monotonic()
        if now - self.told >= SECONDS_BETWEEN:
            self.told = now
            self._tell(clock.step, _named("loss", losses))

    def validated(self, record: Record, *, kept: bool) -> None:  # noqa: ARG002
        """Everything that is known of the step."""
        about = {
            "learning_rate": record.learning_rate,
            "epoch": record.epoch,
            "seconds": record.seconds,
        }
        measured = _named("valid", record.metrics)
        self._tell(record.step, {**_named("loss", record.losses), **measured, **about})

    def close(self, summary: Summary | None) -> None:
        """End what can be ended."""
        if not self.is_lost:
            with self._surviving():
                self.end(summary)

    def _tell(self, step: int, values: Mapping[str, float]) -> None:
        if not self.is_lost:
            with self._surviving():
                self.log(step, values)

    @contextmanager
    def _surviving(self) -> Iterator[None]:
        """A run is worth more than its traces: what the other program raises ends the tracking."""
        try:
            yield
        except Exception as error:
            self.is_lost = True
            warnings.warn(
                f"tracking by {self.extra} ended: {error}; training goes on",
                HaleWarning,
                stacklevel=2,
            )


def _named(kind: str, values: Mapping[str, float]) -> dict[str, float]:
    """loss/uniformity, valid/hits_at_10: letters that all programs take."""
    return {f"{kind}/{name.replace('@', '_at_')}": float(value) for name, value in values.items()}

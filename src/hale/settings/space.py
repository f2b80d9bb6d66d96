"""A search space, declared: which settings a search moves, and how far."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Float:
    """A setting between two numbers, drawn evenly, or by its logarithm."""

    name: str
    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Choice:
    """A setting that has one of a few values, in their order."""

    name: str
    values: tuple[int | float | bool | str, ...]


Dimension = Float | Choice
Space = tuple[Dimension, ...]

OPTIMIZER = Choice("optimizer", ("adam", "adagrad"))

# What any strategy has a use for beside its own settings.
GENERAL: Space = (
    OPTIMIZER,
    Float("near", 0.0, 0.9),
    Float("decay", 0.2, 1.0),
    Choice("dropout", (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)),
    Choice("penalty", (0.0, 0.0005, 0.005, 0.05)),
    Choice("penalty_power", (2.0, 3.0)),
)

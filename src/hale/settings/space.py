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
    values: tuple[int | float | bool, ...]


Dimension = Float | Choice
Space = tuple[Dimension, ...]

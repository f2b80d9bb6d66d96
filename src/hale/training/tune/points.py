"""Points of a search: the space of a system, and where in it a search begins."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hale.data.graph import Graph
from hale.errors import InputError
from hale.models import model_class
from hale.objectives import objective_class
from hale.objectives.scoring import activation_of
from hale.settings import Settings
from hale.settings.space import Choice, Dimension, Float, Space
from hale.training.tune.activation_space import gathered

if TYPE_CHECKING:
    import optuna

STEP = 0.15  # of a setting's width
BOUNDS = Choice("gamma", (5.0, 10.0, 20.0))  # the paper's
MARGIN = Float("margin", 0.5, 9.0)  # of scores that are activated


def space_for(graph: Graph, settings: Settings) -> Space:
    """The spaces of strategy and model, without what makes no difference to this graph and model.

    A bound for two-way relations needs such relations, a near start a model that turns; a bound
    and a slope need an activation that has them. A bounded one brings the paper's bounds along
    where the strategy searches none, and needs a margin where there is one: scores are at most 0,
    so without it no triple could be told likely. Under the paper's recipe the space is the paper's
    own grid.
    """
    strategy = objective_class(settings.strategy)
    has = {field.name for field in fields(activation_of(settings))}
    if settings.recipe == "paper":
        return tuple(one for one in strategy.paper_space if one.name != "gamma" or "gamma" in has)
    idle = {"gamma", "beta"} - has
    if "gamma" not in has or not graph.known("train").two_way.any():
        idle.add("gamma_two_way")
    model = model_class(settings.model)
    if not model.takes_near:
        idle.add("near")
    whole = (*strategy.space, *model.space)
    space = tuple(dimension for dimension in whole if dimension.name not in idle)
    if "gamma" in has and not any(one.name == "gamma" for one in strategy.space):
        space = (*space, BOUNDS)
    return tuple(MARGIN if "gamma" in has and one.name == "margin" else one for one in space)


def digest_of(*parts: object) -> str:
    """Of spaces, and what else trials depend on: under another one they are of no use."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def suggest(trial: optuna.Trial, space: Space) -> dict[str, object]:
    """The settings of a trial."""
    return as_settings({dimension.name: _suggested(trial, dimension) for dimension in space})


def as_settings(point: Mapping[str, object]) -> dict[str, object]:
    """A point of the space as settings: a block of all is called so, a shape is one setting."""
    found = gathered(point)
    return {**found, "block": "all"} if found.get("block") == 1 else found


def _suggested(trial: optuna.Trial, dimension: Dimension) -> object:
    if isinstance(dimension, Choice):
        return trial.suggest_categorical(dimension.name, dimension.values)
    return trial.suggest_float(dimension.name, dimension.low, dimension.high, log=dimension.log)


def starting_points(
    start: Settings, space: Space, num_entities: int, *, fixed: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Where a search begins: at what there is already, then steps away from it, in their order.

    A step is a factor of two where the space is logarithmic, else STEP of its width, or the next
    choice; the paper's bounds are all tried at once, and first, since too low a bound hides what
    other steps would gain; the others come in the order of the space. What lies outside the space
    begins at its edge; what is ``fixed`` does not move.
    """
    settings = _moved_by_searches(start, num_entities)
    first: dict[str, Any] = {}
    steps: list[dict[str, Any]] = []
    for dimension in space:
        name = dimension.name
        if settings[name] is None:
            raise InputError(f"A search moves {name}: leave out what stands in its place.")
        value, moved = _around(dimension, settings[name])
        first[name] = value
        steps += [{name: other} for other in moved]
    points = [{**first, **step} for step in steps if not step.keys() & set(fixed)]
    if not first.get("penalty", 1):  # its power makes no difference to none
        points = [point for point in points if point["penalty_power"] == first["penalty_power"]]
    others = [point for point in points if point != first]
    if BOUNDS in space:
        others.sort(key=lambda point: bool(point["gamma"] == first["gamma"]))
    return [first, *others]


def published_points(
    start: Settings, space: Space, num_entities: int, *, fixed: Collection[str] = ()
) -> list[dict[str, Any]]:
    """What the authors of a strategy train with, where that is known, the rest as it begins.

    What is ``fixed`` stays, and what an activation asks of the strategy, since authors train scores
    without one; of what lies outside the space its edge is taken.
    """
    settings = _moved_by_searches(start, num_entities)
    found: list[dict[str, Any]] = []
    strategy = objective_class(start.strategy)
    stays = {*fixed, *(strategy.activated if start.activation != "identity" else ())}
    for asked in strategy.published:
        free = {name: value for name, value in asked.items() if name not in stays}
        point = {one.name: _around(one, {**settings, **free}[one.name])[0] for one in space}
        if free.keys() & point.keys() and point not in found:
            found.append(point)
    return found


def _moved_by_searches(start: Settings, num_entities: int) -> dict[str, Any]:
    """Settings by the names that a space has: of a block its share, of a shape its numbers."""
    settings = start.model_dump()
    settings |= {f"shape.{place}": value for place, value in enumerate(start.shape)}
    settings["block"] = start.block_size(num_entities) / num_entities
    if start.gamma_two_way is None:  # then one bound serves all relations
        settings["gamma_two_way"] = start.gamma
    return settings


def _around(dimension: Dimension, wanted: Any) -> tuple[Any, list[Any]]:
    """The value of a dimension that is nearest to a wanted one, and those a step away."""
    if isinstance(dimension, Choice):
        values = dimension.values
        place = min(range(len(values)), key=lambda i: _apart(values[i], wanted))
        return values[place], [*values[max(0, place - 1) : place + 2]]
    value = _within(dimension, float(wanted))
    far = STEP * (dimension.high - dimension.low)
    moved = (value / 2, value * 2) if dimension.log else (value - far, value + far)
    return value, [_within(dimension, other) for other in moved]


def _apart(one: float | str, other: float | str) -> float:
    """How far two choices are from each other; of words, whether they are the same."""
    if isinstance(one, str) or isinstance(other, str):
        return float(one != other)
    return abs(one - other)


def _within(dimension: Float, value: float) -> float:
    return min(max(value, dimension.low), dimension.high)

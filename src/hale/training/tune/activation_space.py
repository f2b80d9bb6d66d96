"""The space of a search for an activation: a family of curves, from where Hanon is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from hale.data.graph import Graph
from hale.engine.activations import Hanon
from hale.engine.shapes import KNOTS, as_sigmoid, as_spline
from hale.errors import InputError, UnknownNameError
from hale.settings import Settings
from hale.settings.space import Float, Space

Search = Literal["settings", "activation"]

BOUNDS: Space = (Float("gamma", 3.0, 14.0), Float("gamma_two_way", 3.0, 14.0))
FAMILIES: Mapping[str, Space] = {
    "hanon": (Float("beta", 0.5, 8.0, log=True),),  # what a shape is to be compared with
    "sigmoid": (
        Float("shape.0", 0.0, 5.0),  # shift
        Float("shape.1", 0.5, 8.0, log=True),  # slope
        Float("shape.2", 0.0, 0.6),  # floor
    ),
    "spline": (
        Float("shape.0", 0.5, 10.0, log=True),  # reach
        *(Float(f"shape.{1 + knot}", 0.0, 1.0) for knot in range(KNOTS)),
    ),
}


def check_search(search: str, activation: object) -> None:
    """Refuse a search that there is not, and a family that has no shape to search."""
    if search not in get_args(Search):
        raise UnknownNameError("search", search, get_args(Search))
    if search == "activation" and activation not in (None, *FAMILIES):
        raise InputError(
            f"A search for an activation is among {', '.join(FAMILIES)} (--activation), got "
            f"{activation!r}."
        )


def family_space(graph: Graph, family: str) -> Space:
    """What such a search moves: the shape, and the bounds that this graph has a use for."""
    two_way = bool(graph.known("train").two_way.any())
    bounds = [one for one in BOUNDS if one.name == "gamma" or two_way]
    return (*FAMILIES[family], *bounds)


def first_shape(family: str, usual: Settings) -> tuple[float, ...]:
    """The shape that a search begins at: that of the Hanon that would be taken without it."""
    if family == "hanon":
        return ()
    hanon = Hanon(usual.beta, usual.gamma)
    return as_sigmoid(hanon) if family == "sigmoid" else as_spline(hanon)


def gathered(point: Mapping[str, object]) -> dict[str, object]:
    """A point with the numbers of a shape as one setting."""
    shape = [value for name, value in point.items() if name.startswith("shape.")]
    rest = {name: value for name, value in point.items() if not name.startswith("shape.")}
    return {**rest, "shape": tuple(shape)} if shape else rest

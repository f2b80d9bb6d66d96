"""Activations of a free shape: two families of monotone curves from their floor to gamma.

The paper leaves the search for activations to later; these are what is searched
(``hale tune --search activation``). Both are bounded by gamma, which scales the whole curve, so
that relations may have bounds of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from hale.engine.activations import SHAPED, Activation, Halin, Hanon, positive
from hale.errors import InputError

KNOTS = 8


@dataclass(frozen=True)
class Sigmoid(Activation):
    """A sigmoid with a free place, slope and floor.

        h(x) = gamma (floor + (1 - floor) sigmoid(slope (x - shift)))

    Hanon is the one with slope beta, shift 1/2 + ln(gamma) / beta and no floor, as long as gamma is
    the same for all relations: there its shift follows gamma.
    """

    gamma: float = 6.0
    shift: float = 1.0
    slope: float = 3.0
    floor: float = 0.0
    name: ClassVar[str] = "sigmoid"

    def __post_init__(self) -> None:
        positive(self.name, gamma=self.gamma, slope=self.slope)
        if not 0 <= self.floor < 1 or not math.isfinite(self.shift):
            raise InputError(
                f"{self.name} needs a floor from 0 to below 1 and a finite shift, got "
                f"{self.floor} and {self.shift}."
            )

    @property
    def bound(self) -> float:
        """Gamma."""
        return self.gamma

    @property
    def shape(self) -> tuple[float, ...]:
        """Shift, slope and floor: what the kernel takes."""
        return self.shift, self.slope, self.floor

    def value_and_slope(self, x: Tensor, gamma: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """h, and h' = gamma (1 - floor) slope s (1 - s)."""
        bound = self.gamma if gamma is None else gamma
        place = self.slope * (x - self.shift)
        share, rest = torch.sigmoid(place), torch.sigmoid(-place)
        risen = (1 - self.floor) * share
        return bound * (self.floor + risen), bound * self.slope * (risen * rest)


@dataclass(frozen=True)
class Spline(Activation):
    """Straight pieces through 8 knots after zero, evenly spaced up to ``reach``; level beyond.

        h(x) = gamma sum_k rise_k clamp(8 x / reach - k, 0, 1),   k = 0 .. 7, sum of the rises 1

    Rises are not negative and are scaled to their sum; at a knot the slope is that of the piece
    that begins there.
    """

    gamma: float = 6.0
    reach: float = 4.0
    rises: tuple[float, ...] = (1.0,) * KNOTS
    name: ClassVar[str] = "spline"

    def __post_init__(self) -> None:
        positive(self.name, gamma=self.gamma, reach=self.reach)
        if len(self.rises) != KNOTS or not all(0 <= one < math.inf for one in self.rises):
            raise InputError(
                f"{self.name} needs {KNOTS} rises, none negative, got {list(self.rises)}."
            )
        positive(self.name, **{"a sum of rises": sum(self.rises)})

    @property
    def bound(self) -> float:
        """Gamma."""
        return self.gamma

    @property
    def shape(self) -> tuple[float, ...]:
        """Pieces a unit of x, then the rises: what the kernel takes."""
        total = sum(self.rises)
        return KNOTS / self.reach, *(one / total for one in self.rises)

    def value_and_slope(self, x: Tensor, gamma: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The pieces below x, and a part of the one it is in."""
        bound = self.gamma if gamma is None else gamma
        pace, *rises = self.shape
        place = pace * x
        value, slope = torch.zeros_like(x), torch.zeros_like(x)
        for knot, rise in enumerate(rises):
            value += rise * (place - knot).clamp(0, 1)
            slope += rise * ((place >= knot) & (place < knot + 1))
        return bound * value, (bound * pace) * slope


def sigmoid_of(gamma: float, shape: Sequence[float]) -> Sigmoid:
    """From shift, slope and floor; none given are Hanon's, with a slope of 3."""
    if not shape:
        return Sigmoid(gamma, *as_sigmoid(Hanon(gamma=gamma)))
    if len(shape) != 3:
        raise InputError(f"sigmoid has a shape of shift, slope and floor, got {list(shape)}.")
    return Sigmoid(gamma, *shape)


def spline_of(gamma: float, shape: Sequence[float]) -> Spline:
    """From reach and rises; none given follow Hanon."""
    reach, *rises = shape or as_spline(Hanon(gamma=gamma))
    return Spline(gamma, reach, tuple(rises))


def as_sigmoid(hanon: Hanon) -> tuple[float, ...]:
    """The shape of a Hanon: shift, slope, floor."""
    return 0.5 + math.log(hanon.gamma) / hanon.beta, hanon.beta, 0.0


def as_spline(hanon: Hanon) -> tuple[float, ...]:
    """The reach and rises of the pieces through a Hanon, up to 98 % of its bound."""
    shift, slope, _ = as_sigmoid(hanon)
    reach = shift + math.log(49) / slope
    places = torch.linspace(0, reach, KNOTS + 1, dtype=torch.float64)
    heights = hanon.value_and_slope(places)[0] / hanon.gamma
    return reach, *heights.diff().tolist()


SHAPED |= {Sigmoid.name: sigmoid_of, Spline.name: spline_of}
BY_GAMMA = (Hanon, Halin, Sigmoid, Spline)  # activations whose bound is a setting

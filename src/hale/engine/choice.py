"""Which implementation of the sweep runs, and why."""

from __future__ import annotations

import os
import warnings
from functools import cache
from typing import NamedTuple, Protocol

from torch import Tensor

from hale.activations import Activation
from hale.engine import native, tiles
from hale.engine.tiles import Pairs, Swept
from hale.errors import HaleWarning, InputError

NAMES = ("auto", "native", "tiles")


class Sweep(Protocol):
    """The uniformity term's value and, on request, its three gradients."""

    def __call__(
        self,
        queries: Tensor,
        entities: Tensor,
        scale: Tensor,
        activation: Activation,
        without: Pairs | None,
        *,
        gradients: bool,
        gammas: Tensor | None = None,
    ) -> Swept:
        """Sweep over all entities."""


class Engine(NamedTuple):
    """An implementation by name, and the reason it runs."""

    name: str
    why: str


def current() -> Engine:
    """What runs for float32 tensors on the CPU, under ``HALE_ENGINE`` (auto, native or tiles)."""
    asked = os.environ.get("HALE_ENGINE", "auto")
    if asked not in NAMES:
        raise InputError(f"HALE_ENGINE is one of {', '.join(NAMES)}, got {asked!r}.")
    if asked == "tiles":
        return Engine("tiles", "HALE_ENGINE asks for it")
    try:
        build = native.chosen_build()
        native.library(build)
    except native.NativeMissingError as missing:
        if asked == "native":
            raise InputError(f"HALE_ENGINE asks for the native kernel, but {missing}.") from None
        return Engine("tiles", f"the native kernel is not there: {missing}")
    return Engine("native", f"the {build} build suits this processor")


def choose(queries: Tensor, entities: Tensor, scale: Tensor, activation: Activation) -> Sweep:
    """The implementation for these inputs: native where it can run, else tiles."""
    if not native.can_sweep(queries, entities, scale, activation):
        return tiles.sweep
    engine = current()
    if engine.name == "native":
        return native.sweep
    if os.environ.get("HALE_ENGINE", "auto") == "auto":
        _explain(engine.why)
    return tiles.sweep


@cache
def _explain(why: str) -> None:
    """Say once why the slower engine runs."""
    warnings.warn(f"training runs on torch tiles: {why}", HaleWarning, stacklevel=2)

"""Which implementation of the sweep runs, and why."""

from __future__ import annotations

import os
import warnings
from functools import cache
from typing import Protocol

from torch import Tensor

from hale.engine import native, tiles
from hale.engine.activations import Activation
from hale.engine.estimate import WHOLE, Estimate
from hale.engine.library import current
from hale.engine.tiles import Pairs, Swept
from hale.errors import HaleWarning


class Sweep(Protocol):
    """The uniformity term's value and, on request, its gradients."""

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
        estimate: Estimate = WHOLE,
        others: Tensor | None = None,
    ) -> Swept:
        """Sweep over all entities, or over a block that stands for them."""


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

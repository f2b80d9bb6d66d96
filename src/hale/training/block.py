"""The blocks of a run: from what was asked for to what the graph allows."""

from __future__ import annotations

import warnings

from hale.engine.activations import make_activation
from hale.engine.blocks import Blocks
from hale.engine.estimate import has_floor, size_for, spread_bound
from hale.errors import HaleWarning
from hale.objectives import objective_class
from hale.settings import Settings


def blocks_of(settings: Settings, num_entities: int) -> Blocks | None:
    """The blocks that the settings ask for; None where sums run over all entities.

    A block larger than the graph is all of it. One that is too small for its bound to mean
    anything is warned of.
    """
    if "block" not in objective_class(settings.strategy).uses or settings.block == "all":
        return None
    if settings.block > num_entities:
        _warn(f"block: the graph has {num_entities:,} entities, so all are taken")
    size = settings.block_size(num_entities)
    if size == num_entities:
        return None
    gamma = _largest_bound(settings)
    if spread_bound(gamma, num_entities, size) > 1:
        _warn(
            f"block: with {size:,} entities and a bound of {gamma:g} a sum may be off by more "
            f"than itself; take {size_for(gamma, num_entities):,} or more, or a lower --gamma"
        )
    return Blocks(num_entities, size, settings.seed)


def _largest_bound(settings: Settings) -> float:
    """The largest bound that an activation has in the run; 0 where there is none to speak of."""
    gammas = (settings.gamma, settings.gamma_start, settings.gamma_two_way)
    name, beta, shape = settings.activation, settings.beta, settings.shape
    bounds = (
        make_activation(name, beta=beta, gamma=gamma, shape=shape).bound
        for gamma in gammas
        if gamma is not None
    )
    return max((bound for bound in bounds if has_floor(bound)), default=0.0)


def _warn(text: str) -> None:
    warnings.warn(text, HaleWarning, stacklevel=3)

"""Objectives: one file a training strategy; a name in the registry makes one available."""

from __future__ import annotations

from collections.abc import Callable

from hale.activations import make_activation
from hale.errors import UnknownNameError
from hale.objectives.base import Loss, Objective
from hale.objectives.hale import HaLE
from hale.settings import Settings

__all__ = ["OBJECTIVES", "HaLE", "Loss", "Objective", "make_objective"]


def _hale(settings: Settings) -> Objective:
    return HaLE(
        make_activation(settings.activation, beta=settings.beta, gamma=settings.gamma),
        num_queries=settings.queries,
        alpha=settings.alpha,
        weight=settings.weight,
        square=settings.square,
        relation_scale=settings.relation_scale,
        leave_out_known=settings.leave_out_known,
    )


OBJECTIVES: dict[str, Callable[[Settings], Objective]] = {HaLE.name: _hale}


def make_objective(settings: Settings) -> Objective:
    """The objective that the settings name."""
    if settings.strategy not in OBJECTIVES:
        raise UnknownNameError("strategy", settings.strategy, OBJECTIVES)
    return OBJECTIVES[settings.strategy](settings)

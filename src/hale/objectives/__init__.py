"""Objectives: one file a training strategy; a name in the registry makes one available."""

from __future__ import annotations

from hale.errors import UnknownNameError
from hale.objectives.advneg import AdvNeg
from hale.objectives.allneg import AllNeg
from hale.objectives.allneg_square import AllNegSquare
from hale.objectives.anchored import Anchored
from hale.objectives.base import Criterion, Loss, Objective
from hale.objectives.distile import DistilE
from hale.objectives.hale import HaLE
from hale.objectives.mulde import MulDE
from hale.objectives.nonneg import NonNeg
from hale.objectives.penalized import Penalized
from hale.objectives.samneg import SamNeg
from hale.objectives.taught import Taught
from hale.settings import Settings

__all__ = [
    "DISTILLATIONS",
    "OBJECTIVES",
    "AdvNeg",
    "AllNeg",
    "AllNegSquare",
    "Anchored",
    "Criterion",
    "DistilE",
    "HaLE",
    "Loss",
    "MulDE",
    "NonNeg",
    "Objective",
    "Penalized",
    "SamNeg",
    "make_objective",
    "objective_class",
]

OBJECTIVES: dict[str, type[Objective]] = {
    objective.name: objective for objective in (HaLE, SamNeg, AdvNeg, AllNeg, AllNegSquare, NonNeg)
}

# What soft labels of teachers add to a strategy's loss.
DISTILLATIONS: dict[str, type[Taught]] = {one.name: one for one in (DistilE, MulDE)}


def objective_class(name: str) -> type[Objective]:
    """The strategy of a name."""
    if name not in OBJECTIVES:
        raise UnknownNameError("strategy", name, OBJECTIVES)
    return OBJECTIVES[name]


def make_objective(settings: Settings) -> Criterion:
    """The objective that the settings name, with their penalty if they ask for one."""
    objective = objective_class(settings.strategy).of(settings)
    if settings.penalty:
        return Penalized(objective, weight=settings.penalty, power=settings.penalty_power)
    return objective

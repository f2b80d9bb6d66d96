"""Models: one file each; a name in the registry makes one available everywhere."""

from __future__ import annotations

from hale.errors import UnknownNameError
from hale.graph import GraphSize
from hale.models.base import Model
from hale.models.distmult import DistMult
from hale.models.rotate import RotatE
from hale.models.rote import RotE
from hale.models.rotl import RotL
from hale.models.transe import TransE

__all__ = ["MODELS", "DistMult", "Model", "RotE", "RotL", "RotatE", "TransE", "make_model"]

MODELS: dict[str, type[Model]] = {
    model.name: model for model in (TransE, DistMult, RotatE, RotE, RotL)
}


def make_model(name: str, size: GraphSize, dim: int, *, init_scale: float = 0.1) -> Model:
    """A freshly initialised model by its name."""
    if name not in MODELS:
        raise UnknownNameError("model", name, MODELS)
    return MODELS[name](size, dim, init_scale=init_scale)

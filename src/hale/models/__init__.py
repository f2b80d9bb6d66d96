"""Models: one file each; a name in the registry makes one available everywhere."""

from __future__ import annotations

from typing import Unpack

from hale.data.graph import GraphSize
from hale.errors import UnknownNameError
from hale.models.affine import AffinE
from hale.models.atte import AttE
from hale.models.atth import AttH
from hale.models.base import Model
from hale.models.compgcn import CompGCN
from hale.models.complex import ComplEx
from hale.models.conve import ConvE
from hale.models.convkb import ConvKB
from hale.models.convtranse import ConvTransE
from hale.models.distmult import DistMult
from hale.models.model_options import Options, Similarity
from hale.models.mure import MuRE
from hale.models.murp import MuRP
from hale.models.quate import QuatE
from hale.models.refe import RefE
from hale.models.refh import RefH
from hale.models.rescal import RESCAL
from hale.models.rgcn import RGCN
from hale.models.rot2l import Rot2L
from hale.models.rotate import RotatE
from hale.models.rote import RotE
from hale.models.roth import RotH
from hale.models.rotl import RotL
from hale.models.sacn import SACN
from hale.models.transd import TransD
from hale.models.transe import TransE
from hale.models.tucker import TuckER

__all__ = ["MODELS", "Model", "Options", "Similarity", "make_model", "model_class"]

MODELS: dict[str, type[Model]] = {
    model.name: model
    for model in (
        *(TransE, DistMult, RotatE, RotE, RotL, Rot2L),
        *(MuRE, RefE, AttE, AffinE),
        *(MuRP, RefH, RotH, AttH),
        *(RESCAL, ComplEx, QuatE, TuckER, ConvE, ConvTransE),
        *(TransD, ConvKB),
        *(RGCN, CompGCN, SACN),
    )
}


def model_class(name: str) -> type[Model]:
    """The model of a name."""
    if name not in MODELS:
        raise UnknownNameError("model", name, MODELS)
    return MODELS[name]


def make_model(name: str, size: GraphSize, dim: int, **options: Unpack[Options]) -> Model:
    """A freshly initialised model by its name."""
    return model_class(name)(size, dim, **options)

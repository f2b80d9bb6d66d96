"""Encoders: entity vectors computed from the training facts, in front of any model."""

from __future__ import annotations

from hale.errors import UnknownNameError
from hale.models.encoders.base import Encoder
from hale.models.encoders.compositional import Compositional
from hale.models.encoders.relational import Relational
from hale.models.encoders.weighted import Weighted

__all__ = ["ENCODERS", "Encoder", "encoder_class"]

ENCODERS: dict[str, type[Encoder]] = {
    encoder.name: encoder for encoder in (Relational, Compositional, Weighted)
}


def encoder_class(name: str) -> type[Encoder]:
    """The encoder of a name."""
    if name not in ENCODERS:
        raise UnknownNameError("encoder", name, ENCODERS)
    return ENCODERS[name]

"""Encoding: the encoder that settings ask for, in front of the model that they name."""

from __future__ import annotations

from typing import Any

from hale.data.graph import GraphSize
from hale.models import MODELS, Model, Options, model_class
from hale.models.encoded import Encoded, with_encoder
from hale.models.encoders import ENCODERS, encoder_class
from hale.models.model_options import Encoding
from hale.settings import Settings


def made(settings: Settings, size: GraphSize, options: Options) -> Model:
    """The model that the settings name, with its encoder where there is one."""
    kind, model = _encoded(settings), model_class(settings.model)
    own: dict[str, Any] = {name: getattr(settings, name) for name in model.uses}
    if kind is None:
        return model(size, settings.dim, **options, **own)
    return kind(size, settings.dim, encoding=_asked(settings), **options, **own)


def encoder_fault(settings: Settings) -> str | None:
    """What is asked of an encoder that there is not, or that has no use for it."""
    kind, asked = _encoded(settings), _asked(settings)
    if kind is None:
        if asked == Encoding():
            return None
        encoded = " or ".join(name for name, one in MODELS.items() if issubclass(one, Encoded))
        return (
            f"encoder: {settings.model} has none, so it takes no encoder_layers, bases or "
            f"composition; take --encoder {' or '.join(ENCODERS)}, or --model {encoded}"
        )
    for name in ("bases", "composition"):
        if getattr(asked, name) is not None and name not in kind.encoder_kind.uses:
            users = [key for key, one in ENCODERS.items() if name in one.uses]
            return f"{name}: not for {kind.encoder_kind.name}, only for {' and '.join(users)}"
    return None


def _encoded(settings: Settings) -> type[Encoded] | None:
    """The class of the model with its encoder; None where it has none."""
    model = model_class(settings.model)
    if settings.encoder is not None:
        return with_encoder(model, encoder_class(settings.encoder))
    return model if issubclass(model, Encoded) else None


def _asked(settings: Settings) -> Encoding:
    return Encoding(settings.encoder_layers, settings.bases, settings.composition)

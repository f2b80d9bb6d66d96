"""What kind of number a run's scores are: with biases or without, log odds or not."""

from __future__ import annotations

from hale.models import Similarity, model_class
from hale.objectives import objective_class
from hale.settings import Settings


def has_biases(settings: Settings) -> bool:
    """Whether biases are trained: as is asked for, or as the model comes where it may."""
    if settings.biases is not None:
        return settings.biases
    takes = objective_class(settings.strategy).takes_biases
    return takes and model_class(settings.model).own_biases


def not_in_nats(settings: Settings, similarity: Similarity) -> str | None:
    """Why ranks do not go by scores that are log odds, up to a constant; None where they do."""
    strategy = objective_class(settings.strategy)
    if not strategy.in_nats:
        return f"{strategy.name} trains by a square loss, so its scores are no log odds"
    plain = settings.activation == "identity" and not settings.relation_scale
    if has_biases(settings) and not plain and similarity != "dot":
        return "biases beside an activated or scaled distance rank by another score than trained"
    return None

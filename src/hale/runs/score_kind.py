"""What kind of system settings make: scores with biases or without, log odds or not."""

from __future__ import annotations

from collections.abc import Mapping

from hale.models import Similarity, model_class
from hale.objectives import Objective, objective_class
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


def recipe_kinds(given: Mapping[str, object], strategy: type[Objective]) -> list[str]:
    """What a recipe may have a table by: the dimension, and an activation that is not usual."""
    kinds = [f"d{given['dim']}"] if "dim" in given else []
    usual = strategy.defaults.get("activation", Settings.model_fields["activation"].default)
    activation = given.get("activation", usual)
    return kinds if activation == usual else [*kinds, str(activation)]

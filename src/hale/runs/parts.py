"""Parts that settings add to a model, and why a system has no place for one."""

from __future__ import annotations

from hale.models import MODELS, Model, Similarity
from hale.objectives import Objective
from hale.settings import Settings


def part_fault(
    settings: Settings, model: type[Model], strategy: type[Objective], similarity: Similarity
) -> str | None:
    """What is asked for that has no place in the system, with what to do; None if all has."""
    if (settings.dropout or settings.dropout_start) and not strategy.takes_dropout:
        return f"dropout: {strategy.name} sums over whole tables, which dropout would not touch"
    if settings.heights and (similarity != "l2" or not strategy.takes_heights):
        return (
            f"heights: they are part of a squared L2 distance, and {strategy.name} with "
            f"{model.name} does not look at it; leave them out"
        )
    if settings.residual and (
        similarity not in ("l2", "dot") or model.vectors_each > 1 or not strategy.takes_dropout
    ):
        return (
            f"residual: it is added to a query vector among vectors of entities, and {model.name} "
            f"by {similarity} under {strategy.name} has no place for it; leave it at 0"
        )
    if settings.near and not model.takes_near:
        others = ", ".join(name for name, kind in MODELS.items() if kind.takes_near)
        return (
            f"near: the relations of {model.name} start from no turns or signed factors; leave it "
            f"at 0, or take {others}"
        )
    if settings.biases and not strategy.takes_biases:
        return (
            f"biases: {strategy.name} has no place for them ({strategy.because}); "
            "leave them out, or take samneg, advneg or allneg"
        )
    return None

"""What training holds in memory, told before it is taken."""

from __future__ import annotations

import math

from hale.data.graph import GraphSize
from hale.engine.blank import blank
from hale.engine.memory import GB, available
from hale.errors import SettingsError
from hale.objectives import objective_class
from hale.runs.systems import build_model
from hale.settings import Settings

MOMENTS = {"adam": 2, "adagrad": 1}  # numbers that an optimiser keeps for each weight
SMALLEST = 8  # dimensions below which a smaller table is no advice


def needed(settings: Settings, size: GraphSize) -> int:
    """Bytes that the tables, their moments and a step's sums take, beside the graph itself.

    weights x (1 + moments + 1 for a gradient of all rows, where every step touches every entity)
    + a weight for each pair of a drawn query and an entity of its sum.
    """
    bytes_each = 8 if settings.precision == "float64" else 4
    with blank():
        model = build_model(settings, size)
    weights = sum(parameter.numel() for parameter in model.parameters())
    uses = objective_class(settings.strategy).uses
    summed = settings.block_size(size.num_entities) if "block" in uses else 0
    dense = summed >= size.num_entities
    drawn = settings.queries or math.ceil((settings.alpha or 1.0) * settings.batch_size)
    pairs = drawn * summed if "queries" in uses else 0
    return bytes_each * (weights * (1 + MOMENTS[settings.optimizer] + dense) + pairs)


def check_fits(settings: Settings, size: GraphSize) -> None:
    """Refuse settings that need more memory than there is, and say which would do."""
    free = available()
    if free is None or settings.device not in ("cpu", "auto"):
        return
    asked = needed(settings, size)
    if asked <= free:
        return
    advice = _what_would_do(settings, size, free)
    raise SettingsError(
        [
            f"training needs about {asked / GB:,.1f} GB beside the graph "
            f"({size.num_entities:,} entities at --dim {settings.dim}), {free / GB:,.1f} GB are "
            f"free here: {advice}"
        ]
    )


def _what_would_do(settings: Settings, size: GraphSize, free: int) -> str:
    if "block" in objective_class(settings.strategy).uses and settings.block == "all":
        blocks = settings.model_copy(update={"block": 4096})
        if needed(blocks, size) <= free:
            return "take --block 4096"
        settings = blocks
    dim = settings.dim
    while dim > SMALLEST:
        dim //= 2
        if needed(settings.model_copy(update={"dim": dim}), size) <= free:
            return f"take --dim {dim}"
    return "take a machine with more, or fewer entities"

"""What training holds in memory, told before it is taken."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hale.data.graph import GraphSize
from hale.data.room import GB, available
from hale.engine.blank import blank
from hale.errors import SettingsError
from hale.models import Model
from hale.objectives import objective_class
from hale.runs.systems import build_model
from hale.settings import Settings

MOMENTS = {"adam": 2, "adagrad": 1}  # numbers that an optimiser keeps for each weight
FACT = 16  # bytes: the queries of both directions, sorted for what is known of their answers
ID = 8  # bytes
SMALLEST = 8  # dimensions below which a smaller table is no advice
FEWEST = 64  # positives of a batch, likewise


def needed(settings: Settings, size: GraphSize, facts: int = 0) -> int:
    """Bytes that the tables, their moments and a step's sums take, beside the graph itself.

    weights x (1 + moments + 1 for a gradient of all rows, where every step touches every entity)
    + a weight for each pair of a drawn query and an entity of its sum
    + rows of the negatives of a batch and their gradients
    + the rows that each layer of an encoder makes of all entities
    + best answers of teachers, each an id and a score by each
    + what is known of the answers to the queries of all facts.

    It is the least: what is held for moments beside it is not counted.
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
    negatives = settings.batch_size * settings.negatives if "negatives" in uses else 0
    numbers = weights * (1 + MOMENTS[settings.optimizer] + dense) + pairs
    numbers += 2 * negatives * settings.dim * (2 if settings.double_negatives else 1)
    numbers += size.num_entities * settings.dim * _layers(model)
    return bytes_each * numbers + _lessons(settings, size) + FACT * facts


def _layers(model: Model) -> int:
    """Layers of the model's encoder; 0 where it has none."""
    return int(getattr(model, "encoder").depth) if model.entity.computed else 0  # noqa: B009


def _lessons(settings: Settings, size: GraphSize) -> int:
    """Bytes of what teachers tell: of no more queries than there are, and of their answers."""
    if not settings.teacher:
        return 0
    queries = min(settings.teacher_queries, 2 * size.num_relations * size.num_entities)
    answers = min(settings.teacher_top, size.num_entities)
    return queries * answers * (ID + 4 * len(settings.teacher))


def check_fits(settings: Settings, size: GraphSize, facts: int = 0) -> None:
    """Refuse settings that need more memory than there is, and say which would do."""
    free = available()
    if free is None or settings.device not in ("cpu", "auto"):
        return
    asked = needed(settings, size, facts)
    if asked <= free:
        return
    advice = _what_would_do(settings, size, facts, free)
    raise SettingsError(
        [
            f"training needs about {asked / GB:,.1f} GB beside the graph "
            f"({size.num_entities:,} entities at --dim {settings.dim}), {free / GB:,.1f} GB are "
            f"free here: {advice}"
        ]
    )


def _what_would_do(settings: Settings, size: GraphSize, facts: int, free: int) -> str:
    """The first smaller setting that fits: of a block, a batch, the lessons, a vector."""
    beside = ""
    if "block" in objective_class(settings.strategy).uses and settings.block == "all":
        blocks = settings.model_copy(update={"block": 4096})
        if needed(blocks, size, facts) <= free:
            return "take --block 4096"
        settings, beside = blocks, "--block 4096 and "
    for name, values in _smaller(settings):
        for value in values:
            if needed(settings.model_copy(update={name: value}), size, facts) <= free:
                return f"take {beside}--{name.replace('_', '-')} {value}"
    return "take a machine with more, or fewer entities"


def _smaller(settings: Settings) -> Iterator[tuple[str, list[int]]]:
    """Settings that memory depends on, and values of each below its own, the largest first."""
    if "negatives" in objective_class(settings.strategy).uses:
        yield "batch_size", _halves(settings.batch_size, FEWEST)
    if settings.teacher:
        yield "teacher_queries", _halves(settings.teacher_queries, FEWEST)
    yield "dim", _halves(settings.dim, SMALLEST)


def _halves(value: int, least: int) -> list[int]:
    found = []
    while value > least:
        value //= 2
        found.append(value)
    return found

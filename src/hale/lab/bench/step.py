"""Where a training step's time goes, part by part."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch

from hale.data.graph import Graph
from hale.engine import native, tiles
from hale.engine.library import current
from hale.engine.randomness import Stream, generator
from hale.objectives import HaLE
from hale.settings import Settings
from hale.training.trainer import Trainer


def step_rows(graph: Graph, settings: Settings, *, steps: int = 60) -> list[dict[str, Any]]:
    """Median milliseconds of each part of a step, and of the uniformity kernel alone.

    The whole is timed in steps of their own, without marks between the parts, in turns with
    the kernel alone: a machine that is slow for a while is so for both.
    """
    trainer = Trainer(graph, settings)
    for _ in range(15):
        trainer._step()
    kernel = _kernel_alone(trainer)
    turns = [(_timed(trainer._step), _timed(kernel)) for _ in range(steps)]
    whole, alone = zip(*turns, strict=True)
    parts: dict[str, list[float]] = defaultdict(list)
    for _ in range(steps):
        _step_in_parts(trainer, parts)
    rows = [{"part": name, "median_ms": statistics.median(times)} for name, times in parts.items()]
    rows.append({"part": "whole step", "median_ms": statistics.median(whole)})
    rows.append({"part": "kernel alone", "median_ms": statistics.median(alone)})
    ratio = rows[-2]["median_ms"] / rows[-1]["median_ms"]  # type: ignore[operator]
    for row in rows:
        row["step_over_kernel"] = ratio
    return rows


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - began)


def _step_in_parts(trainer: Trainer, parts: dict[str, list[float]]) -> None:
    """The statements of Trainer._step, with a clock between them."""
    clock = trainer.state.clock
    marks = [time.perf_counter()]

    def mark(name: str) -> None:
        marks.append(time.perf_counter())
        parts[name].append(1e3 * (marks[-1] - marks[-2]))

    draws = generator(trainer.settings.seed, Stream.SAMPLE, clock.step)
    batch = trainer.batches.at(clock.step)
    mark("batch")
    trainer.optimizer.clear()
    loss = trainer.objective(trainer.model, batch, draws, trainer.known_train)
    loss.total.item()
    mark("forward, with the kernel")
    loss.total.backward()  # type: ignore[no-untyped-call]
    mark("backward")
    trainer.optimizer.step(trainer.settings.learning_rate)
    clock.step += 1
    mark("optimiser")


def _kernel_alone(trainer: Trainer) -> Callable[[], object]:
    """A call of the kernel on the queries of one batch."""
    objective = trainer.objective
    assert isinstance(objective, HaLE)
    with torch.no_grad():
        drawn = trainer.batches.at(0)[: trainer.settings.queries or 100]
        queries = trainer.model.query(drawn[:, 0], drawn[:, 1])
        scale = trainer.model.scale(drawn[:, 1])
    sweep = native.sweep if current().name == "native" else tiles.sweep
    entities = trainer.model.entities().detach()
    return lambda: sweep(queries, entities, scale, objective.activation, None, gradients=True)

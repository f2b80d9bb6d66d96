"""Where a training step's time goes: the whole of it, and the native calls that it is made of."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from hale.data.graph import Graph
from hale.engine import library
from hale.settings import Settings
from hale.training.trainer import Trainer

Call = Callable[[str, ctypes.Structure], None]

WARM_UP = 20


def step_rows(graph: Graph, settings: Settings, *, steps: int = 100) -> list[dict[str, Any]]:
    """Median milliseconds of a step, of each native function in it, and of all of them.

    Every step is timed twice over: as a whole, and inside each call of the kernel. What is left is
    the way between them.
    """
    trainer = Trainer(graph, settings)
    for _ in range(WARM_UP):
        trainer._step()
    whole: list[float] = []
    inside: dict[str, list[float]] = defaultdict(list)
    call: Call = library.call
    try:
        for _ in range(steps):
            spent: dict[str, float] = defaultdict(float)
            setattr(library, "call", _timed(call, spent))  # noqa: B010
            whole.append(_milliseconds(trainer))
            for name, seconds in spent.items():
                inside[name].append(1e3 * seconds)
    finally:
        setattr(library, "call", call)  # noqa: B010
    rows = [
        {"part": name.removeprefix("hale_"), "median_ms": statistics.median(times)}
        for name, times in inside.items()
    ]
    kernels = sum(float(str(row["median_ms"])) for row in rows)
    rows.append({"part": "all kernels", "median_ms": kernels})
    rows.append({"part": "whole step", "median_ms": statistics.median(whole)})
    ratio = statistics.median(whole) / kernels if kernels else None
    return [{**row, "step_over_kernels": ratio} for row in rows]


def _milliseconds(trainer: Trainer) -> float:
    began = time.perf_counter()
    trainer._step()
    return 1e3 * (time.perf_counter() - began)


def _timed(enter: Call, spent: dict[str, float]) -> Call:
    """The way into the kernel, with a clock."""

    def call(name: str, problem: ctypes.Structure) -> None:
        began = time.perf_counter()
        enter(name, problem)
        spent[name] += time.perf_counter() - began

    return call

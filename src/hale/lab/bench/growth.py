"""Time and memory of a step as the number of entities grows, with a block of them and with all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hale.data.files import write_whole
from hale.data.graph import Graph, GraphSize, Vocabulary
from hale.engine.memory import peak_mb
from hale.errors import MissingExtraError
from hale.lab.bench.apart import apart
from hale.lab.bench.timing import in_turns
from hale.runs.systems import build_model
from hale.settings import make_settings
from hale.training.trainer import Trainer

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
BLOCK = "4096"
ALL = "all"
LONGEST_STEP = 10.0  # seconds
NUM_RELATIONS = 20
TRIPLES_PER_ENTITY = 3


def synthetic(num_entities: int, *, seed: int = 0) -> Graph:
    """A graph of random facts, a few per entity; its names are made as columns."""
    draws = np.random.default_rng(seed)
    count = TRIPLES_PER_ENTITY * num_entities
    triples = np.stack(
        [draws.integers(0, limit, count) for limit in (num_entities, NUM_RELATIONS, num_entities)],
        axis=1,
    )
    return Graph(
        name=f"synthetic-{num_entities}",
        entities=Vocabulary(_numerals(num_entities), "entity"),
        relations=Vocabulary(_numerals(NUM_RELATIONS), "relation"),
        train=triples,
        valid=triples[:0],
        test=triples[:0],
    )


def _numerals(count: int) -> pl.Series:
    """0, 1, 2, ... as texts of one length, so that they stand in sorted order."""
    return pl.arange(count, eager=True).cast(pl.String).str.zfill(len(str(count - 1)))


def growth_rows(
    *,
    sizes: Sequence[int] = SIZES,
    dim: int = 32,
    queries: int = 100,
    block: str = BLOCK,
    longest: float = LONGEST_STEP,
    steps: int = 12,
) -> list[dict[str, Any]]:
    """One row per size with ``block`` entities a step, then one per size with all of them.

    Each is measured in a process of its own, so that peaks do not mix. A series ends before a step
    would take more than ``longest`` seconds if it grew like N.
    """
    settings = make_settings(dim=dim, queries=queries, block=block)
    build_model(settings, GraphSize(1, 1))  # faults are told before any process
    rows = []
    for choice in dict.fromkeys((block, ALL)):
        expected = 0.0  # seconds an entity, by the size before
        for size in sizes:
            if expected * size > longest:
                break
            row = apart(measure, size, dim, queries, choice, steps)
            expected = 1e-3 * row["median_ms"] / size
            rows.append(row)
    return rows


def measure(num_entities: int, dim: int, queries: int, block: str, steps: int) -> dict[str, Any]:
    """Median time of a step and peak memory of this process."""
    settings = make_settings(dim=dim, queries=queries, block=block, epochs=1000)
    trainer = Trainer(synthetic(num_entities), settings)
    times = in_turns({"step": trainer._step}, rounds=steps)["step"]
    return {
        "block": block,
        "n": num_entities,
        "d": dim,
        "m": queries,
        "median_ms": times.median_ms,
        "best_ms": times.best_ms,
        "us_per_entity": 1e3 * times.median_ms / num_entities,
        "peak_mb": peak_mb(),
    }


def plot_growth(rows: Sequence[dict[str, Any]], target: Path) -> None:
    """Time and memory over the number of entities, a line for each block, all axes logarithmic."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("Drawing", "plot") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for block, series in groupby(rows, key=lambda row: str(row["block"])):
        part = list(series)
        sizes = [row["n"] for row in part]
        name = "all entities" if block == ALL else f"a block of {block}"
        left.loglog(sizes, [row["median_ms"] for row in part], marker="o", label=name)
        right.loglog(sizes, [row["peak_mb"] for row in part], marker="o", label=name)
    last, sizes = rows[-1], sorted({row["n"] for row in rows})
    line = [last["median_ms"] * n / last["n"] for n in sizes]
    left.loglog(sizes, line, linestyle=":", color="0.5", label="linear in N")
    left.set_ylim(bottom=0.5 * min(row["median_ms"] for row in rows))
    left.set_ylabel("milliseconds a step")
    right.set_ylabel("peak memory in MB, whole process")
    for axes in (left, right):
        axes.set_xlabel("entities (N)")
        axes.grid(alpha=0.25)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"A training step, d = {rows[0]['d']}, m = {rows[0]['m']}")
    kind = target.suffix.removeprefix(".") or "png"
    write_whole(target, lambda path: figure.savefig(path, format=kind, dpi=130))
    plt.close(figure)

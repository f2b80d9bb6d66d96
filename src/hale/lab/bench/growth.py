"""Time and memory of a step as the number of entities grows, at fixed m and d."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hale.data.files import write_whole
from hale.data.graph import Graph, Vocabulary
from hale.errors import HaleError, MissingExtraError
from hale.lab.bench.memory import peak_mb
from hale.settings import make_settings
from hale.training.trainer import Trainer

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
NUM_RELATIONS = 20
TRIPLES_PER_ENTITY = 3


def synthetic(num_entities: int, *, seed: int = 0) -> Graph:
    """A graph of random facts, a few per entity."""
    draws = np.random.default_rng(seed)
    count = TRIPLES_PER_ENTITY * num_entities
    triples = np.stack(
        [draws.integers(0, limit, count) for limit in (num_entities, NUM_RELATIONS, num_entities)],
        axis=1,
    )
    return Graph(
        name=f"synthetic-{num_entities}",
        entities=Vocabulary([str(i) for i in range(num_entities)], "entity"),
        relations=Vocabulary([str(i) for i in range(NUM_RELATIONS)], "relation"),
        train=triples,
        valid=triples[:0],
        test=triples[:0],
    )


def growth_rows(
    *, sizes: Sequence[int] = SIZES, dim: int = 32, queries: int = 100, steps: int = 12
) -> list[dict[str, Any]]:
    """One row per size, each measured in a process of its own, so that peaks do not mix."""
    rows = []
    for size in sizes:
        call = f"print(__import__('json').dumps(measure({size}, {dim}, {queries}, {steps})))"
        code = f"from hale.lab.bench.growth import measure; {call}"
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise HaleError(f"The step at {size:,} entities failed:\n{done.stderr[-2000:]}")
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    return rows


def measure(num_entities: int, dim: int, queries: int, steps: int) -> dict[str, Any]:
    """Median time of a step and peak memory of this process."""
    from hale.lab.bench.step import _timed

    settings = make_settings(dim=dim, queries=queries, epochs=1000)
    trainer = Trainer(synthetic(num_entities), settings)
    for _ in range(3):
        trainer._step()
    times = sorted(_timed(trainer._step) for _ in range(steps))
    return {
        "n": num_entities,
        "d": dim,
        "m": queries,
        "median_ms": times[len(times) // 2],
        "best_ms": times[0],
        "us_per_entity": 1e3 * times[len(times) // 2] / num_entities,
        "peak_mb": peak_mb(),
    }


def plot_growth(rows: Sequence[dict[str, Any]], target: Path) -> None:
    """Time and memory over the number of entities, both on logarithmic axes."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("Drawing", "plot") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    sizes = [row["n"] for row in rows]
    left.loglog(sizes, [row["median_ms"] for row in rows], marker="o", label="a step")
    line = [rows[-1]["median_ms"] * n / sizes[-1] for n in sizes]
    left.loglog(sizes, line, linestyle=":", color="0.5", label="linear in N")
    left.set_ylabel("milliseconds")
    right.semilogx(sizes, [row["peak_mb"] for row in rows], marker="o", label="peak memory")
    right.axhline(2048, linestyle=":", color="0.5", label="2 GB")
    right.set_ylabel("MB, whole process")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.set_xlabel("entities (N)")
        axes.grid(alpha=0.25)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"A training step, d = {rows[0]['d']}, m = {rows[0]['m']}")
    kind = target.suffix.removeprefix(".") or "png"
    write_whole(target, lambda path: figure.savefig(path, format=kind, dpi=130))
    plt.close(figure)

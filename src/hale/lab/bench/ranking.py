"""Evaluation: time and peak memory."""

from __future__ import annotations

import statistics
from typing import Any

import torch

from hale.data.graph import Graph
from hale.engine.memory import peak_mb
from hale.evaluation.evaluator import evaluate_model
from hale.models import make_model


def ranking_rows(
    graph: Graph, *, model: str = "rotl", dim: int = 32, rounds: int = 5
) -> list[dict[str, Any]]:
    """Rank the test split of a graph with an untrained model: the work is the same."""
    torch.manual_seed(0)
    untrained = make_model(model, graph.size, dim).eval()
    untrained.see(torch.tensor(graph.train))
    before = peak_mb()
    times = [evaluate_model(untrained, graph, "test").seconds for _ in range(rounds)]
    return [
        {
            "graph": graph.name,
            "model": model,
            "d": dim,
            "ranks": 2 * len(graph.test),
            "entities": len(graph.entities),
            "median_s": statistics.median(times),
            "best_s": min(times),
            "peak_mb": peak_mb(),
            "added_mb": peak_mb() - before,
        }
    ]

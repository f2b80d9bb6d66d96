"""Runs whose scores can be worked out by hand."""

from __future__ import annotations

import numpy as np
import torch

from hale.data.graph import Graph, Vocabulary
from hale.models import make_model
from hale.runs.run import Run, Summary
from hale.settings import make_settings


def line_run(num_entities: int = 20, *, num_valid: int = 12) -> Run:
    """Entity i sits at i; 'next' adds one, 'twice' adds two: every fact scores 0.

    The score of any other triple is minus the squared miss, in both directions.
    """
    after = np.array([[i, 0, i + 1] for i in range(num_entities - 1)])
    twice = np.array([[i, 1, i + 2] for i in range(num_entities - 2)])
    graph = Graph(
        "line",
        Vocabulary([f"p{i}" for i in range(num_entities)], "entity"),
        Vocabulary(["next", "twice"], "relation"),
        train=np.concatenate([after[num_valid:], twice[3:]]),
        valid=np.concatenate([after[:num_valid], twice[:2]]),
        test=twice[2:3],
        labels={"p1": "one", "p2": "two words"},
    )
    model = make_model("transe", graph.size, 2)
    with torch.no_grad():
        model.entity.weight.zero_()
        model.entity.weight[:, 0] = torch.arange(num_entities)
        shifts = torch.tensor([[1.0, 0], [2, 0], [-1, 0], [-2, 0]])
        model.shift.weight.copy_(shifts)  # type: ignore[union-attr, operator]
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    return Run(make_settings(model="transe", dim=2), graph, model, summary)

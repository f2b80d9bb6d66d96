"""A run whose answers are true with probabilities that are known."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from hale.data.graph import Graph, Vocabulary
from hale.models import make_model
from hale.runs.run import Run, Summary
from hale.settings import make_settings

VALUES = 30


def urns(num_given: int = 1200, *, seed: int = 0) -> tuple[Run, NDArray[np.float64]]:
    """Givens and values lie on a line; a given's one value is drawn by how near it is.

    P(value j | given i) = exp(-d_ij^2) / sum_k exp(-d_ik^2), which is returned (given, value).
    The model has the places, and nothing of what was drawn. The value of half of the givens is in
    train, of a quarter each in valid and test; train says of all that they are of one kind.
    """
    draws = np.random.default_rng(seed)
    values = np.sort(draws.uniform(0, 48, VALUES))
    given = draws.uniform(0, 48, num_given)
    weights = np.exp(-((given[:, None] - values) ** 2))
    chances = weights / weights.sum(axis=1, keepdims=True)
    drawn = (draws.random(num_given)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    drawn = np.minimum(drawn, VALUES - 1)
    heads = np.arange(num_given)
    facts = np.stack([heads, np.zeros_like(heads), num_given + drawn], axis=1)
    kinds = np.stack([heads, np.ones_like(heads), np.full_like(heads, num_given + VALUES)], axis=1)
    half, rest = num_given // 2, 3 * num_given // 4
    graph = Graph(
        "urns",
        Vocabulary([f"g{i}" for i in heads] + [f"v{j}" for j in range(VALUES)] + ["x"], "entity"),
        Vocabulary(["has", "is"], "relation"),
        train=np.concatenate([facts[:half], kinds]),
        valid=facts[half:rest],
        test=facts[rest:],
    )
    model = make_model("transe", graph.size, 2)
    with torch.no_grad():
        model.entity.weight.zero_()
        model.entity.weight[:, 0] = torch.tensor(np.concatenate([given, values, [-9]]))
        model.shift.weight.zero_()  # type: ignore[union-attr, operator]
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    settings = make_settings(model="transe", dim=2, activation="identity", relation_scale=False)
    return Run(settings, graph, model.eval(), summary), chances

"""A penalty on top of a strategy."""

from __future__ import annotations

import pytest
import torch

from hale.data.graph import Graph
from hale.objectives import Penalized, make_objective
from hale.runs.systems import complete
from tests.objectives.scalars import build


def test_the_penalty_is_added(graph: Graph) -> None:
    settings = complete(model="complex", penalty=0.2, penalty_power=2)
    objective = make_objective(settings)
    assert isinstance(objective, Penalized)
    model, batch = build(graph, "complex"), torch.tensor(graph.train)
    bare = objective.objective(model, batch, torch.Generator()).total.item()
    loss = objective(model, batch, torch.Generator())
    penalty = model.penalty(batch, 2.0).item()
    assert loss.parts["penalty"].item() == pytest.approx(penalty)
    assert loss.total.item() == pytest.approx(bare + 0.2 * penalty)

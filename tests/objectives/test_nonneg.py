"""NonNeg against plain Python scalars."""

from __future__ import annotations

import pytest
import torch

from hale.data.graph import Graph
from hale.engine.activations import Activation, Hanon, Identity
from hale.objectives import NonNeg
from hale.objectives.scoring import Scoring
from tests.objectives.scalars import build, f, is_left_alone


@pytest.mark.parametrize("name", ["rote", "murp"])
@pytest.mark.parametrize("h", [Identity(), Hanon()], ids=str)
def test_against_scalars(graph: Graph, name: str, h: Activation) -> None:
    model = build(graph, name, biases=False)
    batch = torch.tensor(graph.train)
    loss = NonNeg(Scoring(h, relation_scale=True), weight=0.4)(model, batch, torch.Generator())
    alignment = sum(f(model, a, r, b, h, scaled=True) ** 2 for a, r, b in batch.tolist())
    rows = model.entities().tolist()
    centre = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    spread = sum(
        (sum((x - m) ** 2 for x, m in zip(row, centre, strict=True)) - 1) ** 2 for row in rows
    )
    assert loss.parts["alignment"].item() == pytest.approx(alignment / len(batch))
    assert loss.parts["spread"].item() == pytest.approx(spread / len(rows))
    total = 0.4 * alignment / len(batch) + spread / len(rows)
    assert loss.total.item() == pytest.approx(total)


def test_a_table_in_one_point_is_pushed_apart(graph: Graph) -> None:
    model = build(graph)
    with torch.no_grad():
        model.entity.weight.mul_(1e-3)
    before = model.entities().detach().var(dim=0).sum()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    objective = NonNeg(Scoring(Identity(), relation_scale=False))
    for _ in range(50):
        optimizer.zero_grad()
        objective(model, torch.tensor(graph.train), torch.Generator()).total.backward()
        optimizer.step()
    assert model.entities().var(dim=0).sum() > 100 * before


@pytest.mark.parametrize("name", ["rote", "roth"])
def test_inputs_and_gradients(graph: Graph, name: str) -> None:
    objective = NonNeg(Scoring(Identity(), relation_scale=False))
    assert is_left_alone(build(graph, name), graph, objective)


def test_closed_form_on_the_sphere(graph: Graph) -> None:
    """Entities at distance one from their centre, and relations that move nothing: no spread."""
    model = build(graph, "transe")
    count = len(graph.entities)
    angle = 2 * torch.pi * torch.arange(count, dtype=torch.float64) / count
    with torch.no_grad():
        model.entity.weight.zero_()
        model.entity.weight[:, 0], model.entity.weight[:, 1] = angle.cos(), angle.sin()
        model.shift.weight.zero_()
    loops = torch.tensor([[i, 0, i] for i in range(count)])
    loss = NonNeg(Scoring(Identity(), relation_scale=False))(model, loops, torch.Generator())
    assert loss.total.item() == pytest.approx(0.0, abs=1e-12)

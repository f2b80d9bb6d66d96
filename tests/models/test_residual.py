"""What a small network adds to queries, against plain Python scalars."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from hale.data.graph import GraphSize
from hale.models import MODELS, make_model
from hale.runs.systems import complete
from hale.training.trainer import Trainer
from tests.conftest import ring

SIZE = GraphSize(num_entities=7, num_relations=2)
TAKE_IT = [
    name
    for name, kind in MODELS.items()
    if {"l2", "dot"} & {*kind.similarities} and kind.vectors_each == 1
]


def layer(weights: Tensor, biases: Tensor, given: list[float]) -> list[float]:
    return [
        bias + math.fsum(w * x for w, x in zip(row, given, strict=True))
        for row, bias in zip(weights.tolist(), biases.tolist(), strict=True)
    ]


@pytest.mark.parametrize(("name", "heights"), [("rotl", False), ("rote", True), ("complex", False)])
def test_what_is_added_against_scalars(name: str, heights: bool) -> None:
    torch.manual_seed(0)
    dim, width = 4, 3
    model = make_model(name, SIZE, dim, residual=width, heights=heights).double().eval()
    network = model.residual
    assert network is not None
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_()
    head, relation = torch.tensor([5, 2]), torch.tensor([3, 0])
    found = model.query(head, relation)
    model.residual = None
    plain = model.query(head, relation)
    for row, (h, r) in enumerate(zip(head.tolist(), relation.tolist(), strict=True)):
        given = [*model.entity.rows()[h, :dim].tolist(), *network.code.weight[r].tolist()]
        hidden = [max(0.0, x) for x in layer(network.inner, network.inner_bias, given)]
        assert 0.0 in hidden or row, "some units are at rest"
        added = layer(network.outer, network.outer_bias, hidden)
        told = (found - plain)[row].tolist()
        assert told == pytest.approx(added + [0.0] * heights)


@pytest.mark.parametrize("name", TAKE_IT)
def test_queries_start_as_the_model_has_them(name: str) -> None:
    """And the network learns from the first step: its outer weights have a gradient."""
    torch.manual_seed(1)
    model = make_model(name, SIZE, 12, residual=5)
    model.see(torch.tensor([[0, 0, 1], [2, 1, 3]]))
    model.eval()
    network, head, relation = model.residual, torch.arange(7), torch.arange(7) % 4
    assert network is not None
    queries = model.query(head, relation)
    model.residual = None
    torch.testing.assert_close(queries, model.query(head, relation), rtol=0, atol=0)
    queries.square().sum().backward()
    assert network.outer.grad is not None
    assert network.outer.grad.abs().sum() > 0


def test_the_kernels_step_is_for_queries_without_one() -> None:
    """It knows of rotations and maps alone; with a network it would leave that untrained."""
    values = {"model": "rotl", "dim": 8, "batch_size": 90, "block": 80, "queries": 20, "epochs": 3}
    graph = ring(200)
    plain = Trainer(graph, complete(graph, **values))
    added = Trainer(graph, complete(graph, **values, residual=4))
    assert added.native_step is None
    network = added.model.residual
    assert network is not None
    before = {name: value.clone() for name, value in network.named_parameters()}
    for _ in range(3):
        added._step()
        plain._step()
    assert all(not torch.equal(before[name], one) for name, one in network.named_parameters())
    assert plain.model.is_turn_or_map
    assert not added.model.is_turn_or_map

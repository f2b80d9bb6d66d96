"""What the tests of all strategies share: a small model, and its score f by plain numbers."""

from __future__ import annotations

import math

import torch

from hale.data.graph import Graph
from hale.engine.activations import Activation, Identity
from hale.models import Model, make_model


def build(graph: Graph, name: str = "rote", **options: object) -> Model:
    torch.manual_seed(0)
    model = make_model(name, graph.size, 6, init_scale=0.5, **options).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


def f(
    model: Model,
    head: int,
    relation: int,
    tail: int,
    h: Activation | None = None,
    *,
    scaled: bool = False,
) -> float:
    """The score in training of one triple, from the model's own score of that triple."""
    ids = (torch.tensor([x]) for x in (head, relation, tail))
    score = model.score(*ids).item()
    bias = 0.0
    if model.head_bias is not None:
        bias = model.head_bias.weight[head].item() + model.tail_bias.weight[tail].item()
    plain = score - bias
    if scaled:
        plain *= math.log1p(math.exp(model.free_scale.weight[relation].item()))
    if h is not None and not isinstance(h, Identity):
        plain = -h.value_and_slope(torch.tensor([-plain], dtype=torch.float64))[0].item()
    return plain + bias


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def is_left_alone(model: Model, graph: Graph, objective: object) -> bool:
    """Inputs as before, finite gradients, and some of them not zero."""
    batch = torch.tensor(graph.train)
    kept = batch.clone(), {name: value.clone() for name, value in model.state_dict().items()}
    loss = objective(model, batch, torch.Generator().manual_seed(1), graph.known("train"))  # type: ignore[operator]
    loss.total.backward()
    same = all(torch.equal(value, kept[1][name]) for name, value in model.state_dict().items())
    gradients = [p.grad.to_dense() for p in model.parameters() if p.grad is not None]
    moved = any(g.abs().sum() > 0 for g in gradients)
    finite = all(torch.isfinite(g).all() for g in gradients)
    return torch.equal(batch, kept[0]) and same and finite and moved

from __future__ import annotations

import pytest
import torch

from hale.optimizers import make_optimizer, optimizer_state, restore_optimizer


def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(torch.ones(2, 3)).square().sum().backward()
    optimizer.step()


@pytest.mark.parametrize("name", ["adam", "adagrad"])
def test_a_restored_optimizer_goes_on_bit_for_bit(name: str) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = make_optimizer(name, model, 0.1)
    for _ in range(3):
        step(model, optimizer)
    twin = torch.nn.Linear(3, 2)
    twin.load_state_dict(model.state_dict())
    other = make_optimizer(name, twin, 0.1)
    state = {key: value.clone() for key, value in optimizer_state(optimizer, model).items()}
    assert any(key.startswith("weight/") for key in state)
    restore_optimizer(other, twin, state)
    for _ in range(3):
        step(model, optimizer)
        step(twin, other)
    assert torch.equal(model.weight, twin.weight)
    assert torch.equal(model.bias, twin.bias)


def test_adam_by_hand() -> None:
    """The first step of Adam has the size of the learning rate, whatever the gradient."""
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(model.weight, 2.0)
    optimizer = make_optimizer("adam", model, 0.1)
    model(torch.tensor([[3.0]])).sum().backward()
    optimizer.step()
    assert model.weight.item() == pytest.approx(1.9)

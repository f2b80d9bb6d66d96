from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch

from hale.engine.rows import look_up
from hale.errors import UnknownNameError
from hale.training.optimizers import Optimizer, make_optimizer

THEIRS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adagrad": torch.optim.Adagrad,
}


def gradients(model: torch.nn.Module, seed: int) -> None:
    """A loss that is another one at every step."""
    inputs = torch.randn(4, 3, generator=torch.Generator().manual_seed(seed))
    model.zero_grad()
    model(inputs).sin().sum().backward()


def step(model: torch.nn.Module, optimizer: Optimizer, seed: int, rate: float = 0.1) -> None:
    gradients(model, seed)
    optimizer.step(rate)


def linear(seed: int = 0) -> torch.nn.Linear:
    torch.manual_seed(seed)
    return torch.nn.Linear(3, 2)


@pytest.mark.parametrize("name", THEIRS)
def test_as_torch_does_it(name: str) -> None:
    """Fifty steps of a falling rate, against the plain (unfused) optimiser of PyTorch."""
    mine, other = linear(), linear()
    optimizer = make_optimizer(name, mine)
    reference = THEIRS[name](other.parameters(), lr=1.0, foreach=False)  # type: ignore[call-arg]
    for seed in range(50):
        rate = 0.1 * (1 - seed / 50)
        step(mine, optimizer, seed, rate)
        gradients(other, seed)
        reference.param_groups[0]["lr"] = rate
        reference.step()
    torch.testing.assert_close(mine.weight, other.weight)
    torch.testing.assert_close(mine.bias, other.bias)
    assert not torch.allclose(mine.weight, linear().weight, atol=0.1)


@pytest.mark.parametrize("name", THEIRS)
def test_a_restored_optimizer_goes_on_bit_for_bit(name: str) -> None:
    model = linear()
    optimizer = make_optimizer(name, model)
    for seed in range(3):
        step(model, optimizer, seed)
    twin = linear(seed=1)
    twin.load_state_dict(model.state_dict())
    other = make_optimizer(name, twin)
    other.restore({key: value.clone() for key, value in optimizer.state().items()})
    for seed in range(3, 6):
        step(model, optimizer, seed)
        step(twin, other, seed)
    assert torch.equal(model.weight, twin.weight)
    assert torch.equal(model.bias, twin.bias)


class Rows(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(
            torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
        )


@pytest.mark.parametrize("engine", ["auto", "tiles"])
def test_rows_as_torch_moves_them(engine: str, choose_engine: Callable[[str], None]) -> None:
    """Forty steps on a few rows each, against torch.optim.SparseAdam; ids repeat."""
    choose_engine(engine)
    mine, other = Rows(), Rows()
    optimizer = make_optimizer("adam", mine)
    reference = torch.optim.SparseAdam(other.parameters(), lr=1.0)
    draws = torch.Generator().manual_seed(1)
    for number in range(40):
        ids = torch.randint(30, (8,), generator=draws)
        factors = torch.randn(8, 3, generator=draws)
        rate = 0.1 * (1 - number / 40)
        mine.weight.grad = other.weight.grad = None
        (look_up(mine.weight, ids)[0].sin() * factors).sum().backward()
        (
            torch.nn.functional.embedding(ids, other.weight, sparse=True).sin() * factors
        ).sum().backward()
        optimizer.step(rate)
        reference.param_groups[0]["lr"] = rate
        reference.step()
    torch.testing.assert_close(mine.weight, other.weight)
    state = reference.state[other.weight]
    for field in ("exp_avg", "exp_avg_sq"):
        torch.testing.assert_close(optimizer.state()[f"weight/{field}"], state[field])
    assert torch.equal(mine.weight[30:], Rows().weight[30:]), "untouched"


def test_adagrad_leaves_untouched_rows_as_dense_gradients_do() -> None:
    sparse, dense = Rows(), Rows()
    optimizers = [make_optimizer("adagrad", model) for model in (sparse, dense)]
    for number in range(5):
        ids = torch.tensor([3, 7, 3, 20 + number])
        for model, optimizer in zip((sparse, dense), optimizers, strict=True):
            model.weight.grad = None
            rows = look_up(model.weight, ids)[0] if model is sparse else model.weight[ids]
            rows.sin().sum().backward()
            optimizer.step(0.1)
    torch.testing.assert_close(sparse.weight, dense.weight)


def test_adam_by_hand() -> None:
    """The first step of Adam has the size of the learning rate, whatever the gradient."""
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(model.weight, 2.0)
    optimizer = make_optimizer("adam", model)
    model(torch.tensor([[3.0]])).sum().backward()
    optimizer.step(0.1)
    assert model.weight.item() == pytest.approx(1.9)
    assert optimizer.state()["weight/step"].item() == 1


def test_a_parameter_without_a_gradient_stays() -> None:
    model = linear()
    optimizer = make_optimizer("adam", model)
    gradients(model, 0)
    before = model.bias.detach().clone()
    model.bias.grad = None
    optimizer.step(0.1)
    assert torch.equal(model.bias, before)
    assert {key.split("/")[0] for key in optimizer.state()} == {"weight"}
    optimizer.clear()
    assert model.weight.grad is None


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="adam"):
        make_optimizer("adan", linear())


def test_no_compiler_is_loaded() -> None:
    """What a step saves: PyTorch's compiler, a second of every run's start."""
    code = (
        "import sys, torch; from hale.training.optimizers import make_optimizer\n"
        "model = torch.nn.Linear(3, 2); optimizer = make_optimizer('adam', model)\n"
        "model(torch.ones(1, 3)).sum().backward(); optimizer.step(0.1)\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

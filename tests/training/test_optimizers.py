from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch

from hale.errors import UnknownNameError
from hale.models.tables import Table
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
    """Fifty rows of three numbers, looked up as a model does."""

    def __init__(self) -> None:
        super().__init__()
        self.table = Table(50, 3)
        torch.nn.init.normal_(self.table.weight, generator=torch.Generator().manual_seed(0))

    @property
    def weight(self) -> torch.Tensor:
        return self.table.weight


def loss(rows: torch.Tensor, number: int) -> torch.Tensor:
    factors = torch.randn(rows.shape, generator=torch.Generator().manual_seed(number))
    return (rows.sin() * factors).sum()


def ids_of(number: int) -> torch.Tensor:
    """Eight of the first thirty rows, some of them twice; every tenth step of two rows alone."""
    draws = torch.Generator().manual_seed(100 + number)
    return torch.randint(2 if number % 10 == 0 else 30, (8,), generator=draws)


@pytest.mark.parametrize("engine", ["auto", "tiles"])
def test_rows_end_where_adam_over_all_rows_takes_them(
    engine: str, choose_engine: Callable[[str], None]
) -> None:
    """Sixty steps on a few rows each, at a falling rate, against torch.optim.Adam over all."""
    choose_engine(engine)
    mine, other = Rows(), Rows()
    optimizer = make_optimizer("adam", mine)
    reference = torch.optim.Adam(other.parameters(), lr=1.0, foreach=False)
    for number in range(60):
        rate = 0.1 * (1 - number / 60)
        optimizer.clear()
        reference.zero_grad()
        rows, expected = mine.table(ids_of(number)), other.weight[ids_of(number)]
        torch.testing.assert_close(rows, expected, rtol=1e-4, atol=1e-5)  # as they are read
        loss(rows, number).backward()
        loss(expected, number).backward()
        optimizer.step(rate)
        reference.param_groups[0]["lr"] = rate
        reference.step()
    assert not torch.allclose(mine.weight, other.weight, atol=1e-3), "some rows are behind"
    optimizer.settle()
    torch.testing.assert_close(mine.weight, other.weight, rtol=1e-4, atol=1e-5)
    state = reference.state[other.weight]
    for field in ("exp_avg", "exp_avg_sq"):
        torch.testing.assert_close(
            optimizer.state()[f"table.weight/{field}"], state[field], rtol=1e-3, atol=1e-5
        )
    assert torch.equal(mine.weight[30:], Rows().weight[30:]), "untouched"


@pytest.mark.parametrize("engine", ["auto", "tiles"])
def test_rows_that_are_behind_are_restored_bit_for_bit(
    engine: str, choose_engine: Callable[[str], None]
) -> None:
    choose_engine(engine)

    def moved(model: Rows, optimizer: Optimizer, numbers: range) -> None:
        for number in numbers:
            optimizer.clear()
            loss(model.table(ids_of(number)), number).backward()
            optimizer.step(0.1)

    model, twin = Rows(), Rows()
    optimizer, other = make_optimizer("adam", model), make_optimizer("adam", twin)
    moved(model, optimizer, range(7))
    assert {"table.weight/last", "table.weight/due"} <= set(optimizer.state())
    twin.load_state_dict(model.state_dict())
    other.restore({key: value.clone() for key, value in optimizer.state().items()})
    moved(model, optimizer, range(7, 20))
    moved(twin, other, range(7, 20))
    for one in (optimizer, other):
        one.settle()
    assert torch.equal(model.weight, twin.weight)
    assert "table.weight/last" not in optimizer.state(), "no row is behind"


def test_adagrad_leaves_untouched_rows_as_dense_gradients_do() -> None:
    sparse, dense = Rows(), Rows()
    optimizers = [make_optimizer("adagrad", model) for model in (sparse, dense)]
    for number in range(5):
        ids = torch.tensor([3, 7, 3, 20 + number])
        for model, optimizer in zip((sparse, dense), optimizers, strict=True):
            optimizer.clear()
            rows = model.table(ids) if model is sparse else model.weight[ids]
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

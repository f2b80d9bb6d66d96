"""Rows turned and added by the kernel, against plain torch calls in float64."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from hale.engine import library as kernel
from hale.engine.rows import add_rows
from hale.engine.turns import plain_turn, turn

MODES = ("rotate", "shift", "flexible")


@pytest.fixture(params=kernel.builds(), autouse=True)
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test runs on every build of the kernel that this machine can run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALE_ENGINE", "native")
        patch.setenv("HALE_BUILD", request.param)
        kernel.look_again()
        assert kernel.takes(torch.zeros(1)), "or all would be tested against itself"
        yield request.param


def draw(mode: str, rows: int, relations: int, dim: int, size: float, seed: int) -> list[Tensor]:
    """Vectors, then the tables that a mode has."""
    draws = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return size * torch.randn(*shape, generator=draws)

    angles = 6.3 * torch.rand(relations, dim // 2, generator=draws)
    turns = torch.stack((angles.cos(), angles.sin()), dim=-1).flatten(1)
    tables = [turns, normal(relations, dim), 1 + normal(relations, 1)]
    return [normal(rows, dim), *tables[: 1 + MODES.index(mode)]]


def assert_agreement(inputs: list[Tensor], relation: Tensor, seed: int = 0) -> None:
    """Values and all gradients to 1e-4 of their size."""
    rough = [x.clone().requires_grad_() for x in inputs]
    exact = [x.double().requires_grad_() for x in inputs]
    found = turn(rough[0], relation, *rough[1:])
    wanted = plain_turn(exact[0], relation, *exact[1:])
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(seed))
    pairs = [
        (found, wanted),
        *zip(
            torch.autograd.grad((found * weights).sum(), rough),
            torch.autograd.grad((wanted * weights).sum(), exact),
            strict=True,
        ),
    ]
    for one, other in pairs:
        assert one.shape == other.shape
        room = 1e-4 * other.abs().max().item() + 1e-6
        assert (one.double() - other).abs().max().item() <= room


@given(
    mode=st.sampled_from(MODES),
    rows=st.integers(1, 70),
    relations=st.integers(1, 9),
    half=st.integers(1, 40),
    size=st.sampled_from([0.0, 1e-3, 0.1, 0.3]),
    seed=st.integers(0, 2**16),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_agreement(mode: str, rows: int, relations: int, half: int, size: float, seed: int) -> None:
    inputs = draw(mode, rows, relations, 2 * half, size, seed)
    draws = torch.Generator().manual_seed(seed)
    assert_agreement(inputs, torch.randint(relations, (rows,), generator=draws), seed)


def test_by_hand() -> None:
    """A quarter turn takes (1, 2) to (-2, 1); a shift of (1, 1) has an inner product of -1 with it.

    So the denominator of RotL's addition is at its least, 0.1: 3 (-1, 2) / 0.1.
    """
    vectors, turns = torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 1.0]])
    which, shifts, alphas = torch.tensor([0]), torch.tensor([[1.0, 1.0]]), torch.tensor([[3.0]])
    assert turn(vectors, which, turns).tolist() == [[-2, 1]]
    assert turn(vectors, which, turns, shifts).tolist() == [[-1, 2]]
    assert turn(vectors, which, turns, shifts, alphas)[0].tolist() == pytest.approx([-30, 60])


def test_a_denominator_at_its_least_has_no_slope() -> None:
    vectors = torch.tensor([[3.0, 0.0], [0.5, 0.1]])
    turns, shifts = torch.tensor([[1.0, 0.0]]), torch.tensor([[-1.0, 0.5]])
    assert_agreement([vectors, turns, shifts, torch.tensor([[1.3]])], torch.tensor([0, 0]))


def test_vectors_that_lie_apart() -> None:
    """The first columns of a wider table, as entities with heights have them."""
    wide = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    inputs = draw("flexible", 5, 2, 6, 0.3, seed=1)
    relation = torch.tensor([0, 1, 1, 0, 1])
    found = []
    for vectors in (wide, wide[:, :6].clone()):
        leaves = [x.clone().requires_grad_() for x in (vectors, *inputs[1:])]
        turned = turn(leaves[0][:, :6], relation, *leaves[1:])
        found.append([turned, *torch.autograd.grad(turned.square().sum(), leaves)])
    apart, together = found
    apart[1] = apart[1][:, :6]
    for one, other in zip(apart, together, strict=True):
        assert torch.equal(one, other)


def test_the_same_bits_at_every_run() -> None:
    inputs = [x.requires_grad_() for x in draw("flexible", 3000, 5, 32, 0.2, seed=0)]
    relation = torch.randint(5, (3000,), generator=torch.Generator().manual_seed(0))

    def gradients() -> tuple[Tensor, ...]:
        return torch.autograd.grad(turn(inputs[0], relation, *inputs[1:]).square().sum(), inputs)

    for one, other in zip(gradients(), gradients(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("dim", [1, 6, 33])
def test_rows_are_added_where_they_belong(dim: int) -> None:
    draws = torch.Generator().manual_seed(0)
    table = torch.randn(50, dim, generator=draws)
    ids = torch.randint(50, (400,), generator=draws)
    rows = torch.randn(400, dim, generator=draws)
    wanted = table.double().index_add(0, ids, rows.double())
    assert add_rows(table, ids, rows) is table
    torch.testing.assert_close(table.double(), wanted, rtol=1e-5, atol=1e-5)


def test_ids_outside_the_table_are_refused() -> None:
    inputs = draw("shift", 2, 3, 4, 0.1, seed=0)
    for bad in ([0, 3], [-1, 0]):
        with pytest.raises(IndexError, match="of a table of 3"):
            turn(inputs[0], torch.tensor(bad), *inputs[1:])
        with pytest.raises(IndexError, match="of a table of 3"):
            add_rows(torch.zeros(3, 4), torch.tensor(bad), torch.zeros(2, 4))


def test_what_does_not_fit_is_left_to_torch() -> None:
    vectors, turns, shifts = torch.zeros(2, 4), torch.ones(3, 4), torch.zeros(3, 4)
    which = torch.tensor([0, 1])
    with pytest.raises(RuntimeError):
        turn(vectors, which, torch.ones(3, 6), shifts)
    with pytest.raises(RuntimeError):
        turn(torch.zeros(2, 3), which, torch.ones(3, 3))
    with pytest.raises(RuntimeError):
        turn(vectors, torch.tensor([0, 1, 2]), turns, shifts)
    with pytest.raises((RuntimeError, IndexError)):
        add_rows(torch.zeros(3, 4), which, torch.zeros(2, 3))


def test_an_empty_batch_moves_nothing() -> None:
    inputs = [x.requires_grad_() for x in draw("flexible", 0, 3, 4, 0.1, seed=0)]
    turned = turn(inputs[0], torch.empty(0, dtype=torch.long), *inputs[1:])
    assert turned.shape == (0, 4)
    for gradient in torch.autograd.grad(turned.sum(), inputs):
        assert not gradient.any()


def test_many_rows_on_one_thread_and_on_two() -> None:
    """A relation that no row has gets no gradient, however many threads summed up."""
    inputs = draw("flexible", 2000, 6, 32, 0.2, seed=3)
    relation = torch.randint(5, (2000,), generator=torch.Generator().manual_seed(0))
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            assert_agreement(inputs, relation)
            leaves = [x.clone().requires_grad_() for x in inputs]
            total = turn(leaves[0], relation, *leaves[1:]).square().sum()
            for gradient in torch.autograd.grad(total, leaves)[1:]:
                assert not gradient[5].any()
                assert gradient[:5].any(dim=1).all()
    finally:
        torch.set_num_threads(before)


def test_other_types_go_by_torch_calls() -> None:
    inputs = [x.double() for x in draw("flexible", 4, 2, 6, 0.3, seed=0)]
    relation = torch.tensor([0, 1, 1, 0])
    assert turn(inputs[0], relation, *inputs[1:]).dtype == torch.float64
    table = torch.zeros(3, 2, dtype=torch.float64)
    add_rows(table, torch.tensor([1, 1]), torch.ones(2, 2, dtype=torch.float64))
    assert table.tolist() == [[0, 0], [2, 2], [0, 0]]

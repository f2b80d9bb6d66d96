"""Rows mapped by the kernel, against plain torch calls in float64."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from hale.engine import library as kernel
from hale.engine.maps import affine, plain_affine


@pytest.fixture(params=kernel.builds(), autouse=True)
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test runs on every build of the kernel that this machine can run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HALE_ENGINE", "native")
        patch.setenv("HALE_BUILD", request.param)
        kernel.look_again()
        assert kernel.takes(torch.zeros(1)), "or all would be tested against itself"
        yield request.param


def draw(rows: int, relations: int, groups: int, k: int, seed: int) -> list[Tensor]:
    """Vectors, maps and shifts."""
    draws = torch.Generator().manual_seed(seed)
    dim = groups * k
    shapes = ((rows, dim), (relations, dim, k), (relations, dim))
    return [torch.randn(*shape, generator=draws) for shape in shapes]


def gradients(
    function: object, inputs: list[Tensor], relation: Tensor, weights: Tensor
) -> tuple[Tensor, ...]:
    """The value, then its gradients weighed."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    found = function(leaves[0], relation, *leaves[1:])  # type: ignore[operator]
    return found, *torch.autograd.grad((found * weights).sum(), leaves)


def assert_agreement(inputs: list[Tensor], relation: Tensor) -> None:
    """Values and all gradients to 1e-4 of their size."""
    weights = torch.randn(inputs[0].shape, generator=torch.Generator().manual_seed(0))
    rough = gradients(affine, inputs, relation, weights)
    exact = gradients(plain_affine, [x.double() for x in inputs], relation, weights.double())
    for one, other in zip(rough, exact, strict=True):
        assert one.dtype == torch.float32
        assert one.shape == other.shape
        room = 1e-4 * other.abs().max().item() + 1e-6
        assert (one.double() - other).abs().max().item() <= room


@given(
    rows=st.integers(1, 70),
    relations=st.integers(1, 9),
    groups=st.integers(1, 9),
    k=st.sampled_from([1, 2, 3, 4, 5, 8]),
    seed=st.integers(0, 2**16),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_agreement(rows: int, relations: int, groups: int, k: int, seed: int) -> None:
    draws = torch.Generator().manual_seed(seed)
    relation = torch.randint(relations, (rows,), generator=draws)
    assert_agreement(draw(rows, relations, groups, k, seed), relation)


def test_by_hand() -> None:
    """[[1, 2], [3, 4]] (5, 6) is (17, 39), the second block swaps (7, 8); then a shift."""
    vectors = torch.tensor([[5.0, 6.0, 7.0, 8.0]])
    maps = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [0.0, 1.0], [1.0, 0.0]]])
    shifts = torch.tensor([[100.0, 200.0, 300.0, 400.0]])
    for function in (affine, plain_affine):
        found, by_vectors, by_maps, by_shifts = gradients(
            function, [vectors, maps, shifts], torch.tensor([0]), torch.tensor([[1.0, 10, 2, 3]])
        )
        assert found.tolist() == [[117, 239, 308, 407]]
        assert by_vectors.tolist() == [[31, 42, 3, 2]]
        assert by_maps.tolist() == [[[5, 6], [50, 60], [14, 16], [21, 24]]]
        assert by_shifts.tolist() == [[1, 10, 2, 3]]


def test_vectors_that_lie_apart() -> None:
    """The first columns of a wider table, as entities with heights have them."""
    _, maps, shifts = draw(5, 2, 3, 2, seed=1)
    wide = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    relation = torch.tensor([0, 1, 1, 0, 1])
    apart = affine(wide[:, :6], relation, maps, shifts)
    assert torch.equal(apart, affine(wide[:, :6].clone(), relation, maps, shifts))


@pytest.mark.parametrize("k", [2, 4, 8])
def test_the_same_bits_on_any_number_of_threads(k: int) -> None:
    """A relation of more rows than one segment has; one that no row has gets no gradient."""
    inputs = draw(3000, 6, 16 // k, k, seed=3)
    relation = torch.randint(5, (3000,), generator=torch.Generator().manual_seed(0))
    weights = torch.ones(3000, 16)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            found.append(gradients(affine, inputs, relation, weights))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert torch.equal(one, two)
    for gradient in found[0][2:]:
        assert not gradient[5].any()
        assert gradient[:5].flatten(1).any(dim=1).all()


def test_relations_outside_the_table_are_refused() -> None:
    inputs = draw(2, 3, 2, 2, seed=0)
    for bad in ([0, 3], [-1, 0]):
        with pytest.raises(IndexError, match="of a table of 3"):
            affine(inputs[0], torch.tensor(bad), *inputs[1:])


def test_what_does_not_fit_is_left_to_torch() -> None:
    vectors, maps, shifts = draw(2, 3, 2, 2, seed=0)
    which = torch.tensor([0, 1])
    with pytest.raises(RuntimeError):
        affine(vectors, which, maps[:, :2], shifts)
    with pytest.raises(RuntimeError):
        affine(vectors, which, maps, shifts[:, :3])
    with pytest.raises(RuntimeError):
        affine(vectors, torch.tensor([0, 1, 2]), maps, shifts)


def test_an_empty_batch_moves_nothing() -> None:
    inputs = draw(0, 3, 2, 2, seed=0)
    found = gradients(affine, inputs, torch.empty(0, dtype=torch.long), torch.ones(0, 4))
    assert found[0].shape == (0, 4)
    assert not any(gradient.any() for gradient in found)


def test_other_types_go_by_torch_calls() -> None:
    inputs = [x.double() for x in draw(4, 2, 3, 2, seed=0)]
    assert affine(inputs[0], torch.tensor([0, 1, 1, 0]), *inputs[1:]).dtype == torch.float64

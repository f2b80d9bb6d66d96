"""The uniformity term against plain scalars, a closed form, and autograd in float64."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from hale.engine import native, tiles, uniformity
from hale.engine.activations import Activation, Arctanh, Double, Halin, Hanon, Identity, XExp
from hale.engine.shapes import Sigmoid, Spline
from hale.errors import InputError
from tests.engine.rounding import UNDERFLOW, uniformity_room

ACTIVATIONS = [
    Hanon(3.0, 6.0),
    Hanon(2.0, 100.0),  # a bound beyond MOST_BOUND takes the running minimum
    Halin(10.0, 10.0),
    XExp(),
    Double(),
    Arctanh(),
    Identity(),
    Sigmoid(6.0, 1.1, 2.5, 0.2),
    Sigmoid(100.0, 1.1, 2.5, 0.2),
    Spline(6.0, 3.0, (0.1, 0.0, 0.4, 1.0, 0.7, 0.2, 0.1, 0.3)),
    Spline(100.0, 3.0, (0.1, 0.0, 0.4, 1.0, 0.7, 0.2, 0.1, 0.3)),
]
Pairs = tuple[Tensor, Tensor]

pytestmark = pytest.mark.usefixtures("engine")


def reference(
    queries: Tensor, entities: Tensor, scale: Tensor, h: Activation, without: Pairs | None
) -> Tensor:
    """The definition, by autograd on plain tensor expressions."""
    distances = (queries[:, None] - entities[None]).square().sum(dim=-1)
    activated = h(scale[:, None] * distances)
    if without is not None:
        left_out = torch.zeros_like(activated, dtype=torch.bool)
        left_out[without] = True
        activated = activated.masked_fill(left_out, torch.inf)
    return torch.logsumexp(-activated, dim=1).mean()


def assert_agreement(
    queries: Tensor, entities: Tensor, scale: Tensor, h: Activation, without: Pairs | None
) -> None:
    """Engine in float32 against the reference in float64: value and all three gradients."""
    exact = [x.detach().double().requires_grad_() for x in (queries, entities, scale)]
    rough = [x.detach().clone().requires_grad_() for x in (queries, entities, scale)]
    expected = reference(*exact, h, without)
    found = uniformity(*rough, h, without)
    most, rooms = uniformity_room(*(x.detach() for x in exact), h, without)
    assert abs(found.item() - expected.item()) <= most
    wanted = torch.autograd.grad(expected, exact)
    given = torch.autograd.grad(found, rough)
    for name, one, other, room in zip(
        ("queries", "entities", "scale"), given, wanted, rooms, strict=True
    ):
        over = (one.double() - other).abs() - room - 1e-9 * other.abs().max() - UNDERFLOW
        assert over.max() <= 0, f"gradient of {name}: {over.max()} beyond rounding"


def draw(m: int, n: int, d: int, size: float, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    queries = size * torch.randn(m, d, generator=generator)
    entities = size * torch.randn(n, d, generator=generator)
    return queries, entities, 0.2 + torch.rand(m, generator=generator)


def test_by_hand() -> None:
    queries = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    entities = torch.tensor([[0.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    scale = torch.tensor([1.0, 0.5])
    # squared distances 0 4 2 and 1 5 1; times the scale 0 4 2 and 0.5 2.5 0.5
    one = math.log(math.exp(0) + math.exp(-4) + math.exp(-2))
    two = math.log(math.exp(-0.5) + math.exp(-2.5) + math.exp(-0.5))
    value = uniformity(queries, entities, scale, Identity())
    assert value.item() == pytest.approx((one + two) / 2)
    # without entity 2 for query 0
    pairs = (torch.tensor([0]), torch.tensor([2]))
    one = math.log(math.exp(0) + math.exp(-4))
    value = uniformity(queries, entities, scale, Identity(), pairs)
    assert value.item() == pytest.approx((one + two) / 2)


@pytest.mark.parametrize("h", ACTIVATIONS, ids=str)
def test_equal_distances_have_a_closed_form(h: Activation) -> None:
    """If all entities coincide, uniformity is ln N minus the activated distance."""
    entities = torch.tensor([[0.6, 0.0]]).repeat(300, 1)
    value = uniformity(torch.zeros(4, 2), entities, torch.ones(4), h)
    activated = h.value_and_slope(torch.tensor([0.36]))[0].item()
    assert value.item() == pytest.approx(math.log(300) - activated, rel=1e-5)


@pytest.mark.parametrize("h", ACTIVATIONS, ids=str)
@pytest.mark.parametrize(
    ("m", "n", "d"),
    [
        *((1, 1, 1), (1, 700, 3), (5, 1, 4), (3, 255, 7), (6, 257, 32), (40, 513, 2)),
        # a last dimension that goes apart, and a last vector that reaches into the next row
        *((32, 400, 17), (32, 400, 33), (32, 240, 33), (100, 130, 65), (20, 600, 20)),
        # as many entities as whole tiles have, and one more
        *((5, 240, 5), (5, 121, 3), (5, 241, 1)),
        # dimensions that split into register blocks of different height
        *((100, 130, 48), (97, 130, 80), (100, 130, 96), (100, 130, 144)),
    ],
)
def test_against_autograd(h: Activation, m: int, n: int, d: int) -> None:
    assert_agreement(*draw(m, n, d, 0.3, seed=m + n), h, None)


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    h=st.sampled_from(ACTIVATIONS),
    m=st.integers(1, 9),
    n=st.integers(1, 600),
    d=st.integers(1, 9) | st.sampled_from([17, 20, 33]),
    size=st.sampled_from([0.0, 0.01, 0.3, 1.0]),
    seed=st.integers(0, 999),
    places=st.none() | st.sets(st.tuples(st.integers(0, 8), st.integers(0, 599)), max_size=20),
)
# far beyond the bound: gradients of 1e-43, which float32 hardly has
@example(h=Hanon(beta=3.0, gamma=6.0), m=1, n=1, d=17, size=1.0, seed=0, places=None)
# two entities almost equally near, where x exp(x) has a slope of 1e4
@example(h=XExp(), m=1, n=129, d=20, size=1.0, seed=169, places=None)
def test_against_autograd_on_drawn_shapes(
    h: Activation,
    m: int,
    n: int,
    d: int,
    size: float,
    seed: int,
    places: set[tuple[int, int]] | None,
) -> None:
    without = None
    if n > 1 and places is not None:  # never the last entity: each query keeps one
        pairs = {(row % m, column % (n - 1)) for row, column in places}
        rows, columns = zip(*pairs, strict=True) if pairs else ((), ())
        without = (torch.tensor(rows, dtype=torch.long), torch.tensor(columns, dtype=torch.long))
    assert_agreement(*draw(m, n, d, size, seed), h, without)


@pytest.mark.parametrize("h", [Hanon(3.0, 6.0), Halin(10.0, 10.0)], ids=str)
@pytest.mark.parametrize("top", [20.0, 100.0])  # the second beyond MOST_BOUND
@pytest.mark.parametrize("block", [None, 16 * 130])
def test_bounds_of_their_own(
    h: Hanon | Halin, top: float, block: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each query alone, under an activation with its bound: the mean of those."""
    if block:
        monkeypatch.setattr(tiles, "BLOCK_ELEMENTS", block)
        monkeypatch.setattr(native, "BLOCK_ELEMENTS", block)
    inputs = draw(37, 130, 33, 0.3, seed=4)
    gammas = torch.linspace(1.0, top, 37)
    exact = [x.double().requires_grad_() for x in inputs]
    queries, entities, scale = exact
    alone = [
        reference(queries[[i]], entities, scale[[i]], replace(h, gamma=gamma), None)
        for i, gamma in enumerate(gammas.tolist())
    ]
    expected = torch.stack(alone).mean()
    rough = [x.clone().requires_grad_() for x in inputs]
    found = uniformity(*rough, h, None, gammas)
    assert found.item() == pytest.approx(expected.item(), rel=1e-4)
    wanted = torch.autograd.grad(expected, exact)
    for one, other in zip(torch.autograd.grad(found, rough), wanted, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("gammas", [torch.ones(2), torch.tensor([1.0, 0.0, 1.0])], ids=str)
def test_bounds_that_cannot_be_are_refused(gammas: Tensor) -> None:
    inputs = draw(3, 20, 4, 0.3, seed=0)
    with pytest.raises(InputError, match="a finite bound above zero for each of 3 queries"):
        uniformity(*inputs, Hanon(), None, gammas)
    with pytest.raises(InputError, match="identity has no bound"):
        uniformity(*inputs, Identity(), None, torch.ones(3))
    with pytest.raises(InputError, match="float32 on cpu"):
        uniformity(*inputs, Hanon(), None, torch.ones(3).double())


def test_bounds_in_float64() -> None:
    queries, entities, scale = (x.double() for x in draw(2, 20, 4, 0.3, seed=0))
    gammas = torch.tensor([4.0, 9.0], dtype=torch.float64)
    alone = [
        uniformity(queries[[i]], entities, scale[[i]], Hanon(3.0, gammas[i].item()))
        for i in range(2)
    ]
    both = uniformity(queries, entities, scale, Hanon(), None, gammas)
    assert both.item() == pytest.approx(sum(alone).item() / 2, rel=1e-12)  # type: ignore[union-attr]


@pytest.mark.parametrize("h", ACTIVATIONS, ids=str)
def test_far_away_nothing_overflows(h: Activation) -> None:
    queries, entities, scale = draw(3, 300, 4, 30.0, seed=1)
    inputs = [x.requires_grad_() for x in (queries, entities, scale)]
    value = uniformity(*inputs, h)
    assert torch.isfinite(value)
    for gradient in torch.autograd.grad(value, inputs):
        assert torch.isfinite(gradient).all()
    expected = reference(*(x.detach().double() for x in inputs), h, None)
    assert value.item() == pytest.approx(expected.item(), rel=1e-4)


@pytest.mark.parametrize("h", ACTIVATIONS, ids=str)
def test_the_nearest_left_out_does_not_set_the_floor(h: Activation) -> None:
    """The left-out entity sits on the query, all others far off: their sum must not vanish."""
    entities = torch.full((600, 2), 15.0)
    entities[0] = 0.0
    without = (torch.tensor([0]), torch.tensor([0]))
    value = uniformity(torch.zeros(1, 2), entities, torch.ones(1), h, without)
    activated = h.value_and_slope(torch.tensor([450.0]))[0].item()
    assert value.item() == pytest.approx(math.log(599) - activated, rel=1e-4)


@pytest.mark.parametrize("h", [Hanon(), Identity()], ids=str)
def test_blocks_of_queries_change_nothing(h: Activation, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, entities, scale = draw(37, 300, 4, 0.3, seed=2)
    without = (torch.tensor([0, 3, 36, 20]), torch.tensor([5, 299, 0, 1]))

    def both() -> tuple[Tensor, tuple[Tensor, ...]]:
        inputs = [x.clone().requires_grad_() for x in (queries, entities, scale)]
        value = uniformity(*inputs, h, without)
        return value.detach(), torch.autograd.grad(value, inputs)

    whole = both()
    monkeypatch.setattr(tiles, "BLOCK_ELEMENTS", 600)  # two queries at a time
    monkeypatch.setattr(native, "BLOCK_ELEMENTS", 16 * 300)  # sixteen, a vector's width
    monkeypatch.setattr(tiles, "TILE_ELEMENTS", 512)  # two tiles of entities
    torch.testing.assert_close(both(), whole)


def test_nothing_of_size_m_times_n_is_kept_for_the_backward_pass() -> None:
    m, n, d = 50, 2000, 4
    saved: list[Tensor] = []
    inputs = [x.requires_grad_() for x in draw(m, n, d, 0.3, seed=0)]
    with torch.autograd.graph.saved_tensors_hooks(saved.append, lambda tensor: tensor):
        value = uniformity(*inputs, Hanon())
    assert not saved
    kept = vars(value.grad_fn).values() if hasattr(value.grad_fn, "__dict__") else []
    tensors = [
        tensor for item in kept if isinstance(item, tuple) for tensor in item if tensor is not None
    ]
    assert sorted(tensor.numel() for tensor in tensors) == [m, m * d, n * d]


def test_only_what_is_asked_for_is_differentiated() -> None:
    queries, entities, scale = draw(3, 20, 4, 0.3, seed=0)
    entities.requires_grad_()
    (gradient,) = torch.autograd.grad(uniformity(queries, entities, scale, Hanon()), entities)
    assert gradient.shape == entities.shape


def test_a_second_backward_pass_is_refused() -> None:
    inputs = [x.requires_grad_() for x in draw(3, 20, 4, 0.3, seed=0)]
    value = uniformity(*inputs, Hanon())
    value.backward(retain_graph=True)
    with pytest.raises(InputError, match="call it again"):
        value.backward()


def test_inputs_are_left_alone() -> None:
    inputs = draw(3, 20, 4, 0.3, seed=0)
    before = [x.clone() for x in inputs]
    uniformity(*inputs, Hanon(), (torch.tensor([0]), torch.tensor([1])))
    assert all(torch.equal(x, y) for x, y in zip(inputs, before, strict=True))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((3, 4), (5, 3), (3,)), "takes queries"),
        (((3, 4), (5, 4), (2,)), "takes queries"),
        (((3,), (5, 4), (3,)), "queries has 2 dimension"),
        (((0, 4), (5, 4), (0,)), "m, N >= 1"),
    ],
)
def test_wrong_shapes(shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        uniformity(*(torch.zeros(shape) for shape in shapes), Hanon())


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([0, 1], [0], "one length"),
        ([3], [0], "outside 0..2"),
        ([0], [2], "outside 0..1"),
        ([1, 1], [0, 1], "no entity at all"),
    ],
)
def test_wrong_pairs(rows: list[int], columns: list[int], message: str) -> None:
    queries, entities, scale = draw(3, 2, 4, 0.3, seed=0)
    with pytest.raises(InputError, match=message):
        uniformity(queries, entities, scale, Hanon(), (torch.tensor(rows), torch.tensor(columns)))


@pytest.mark.parametrize("d", [8, 33])
def test_nan_among_the_inputs_reaches_the_value(d: int) -> None:
    """Training stops at a value that is not finite: no engine may hide it."""
    for place in range(3):
        inputs = draw(3, 300, d, 0.3, seed=0)
        inputs[place].view(-1)[-1] = torch.nan
        assert torch.isnan(uniformity(*inputs, Hanon()))


@pytest.mark.parametrize("d", [8, 33])
def test_the_same_bits_again(d: int) -> None:
    inputs = [x.requires_grad_() for x in draw(20, 5000, d, 0.3, seed=0)]
    first, second = (torch.autograd.grad(uniformity(*inputs, Hanon()), inputs) for _ in range(2))
    assert all(torch.equal(one, two) for one, two in zip(first, second, strict=True))


def test_the_factor_of_the_backward_pass_counts() -> None:
    inputs = [x.requires_grad_() for x in draw(3, 300, 4, 0.3, seed=0)]
    once = torch.autograd.grad(uniformity(*inputs, Hanon()), inputs)
    thrice = torch.autograd.grad(3 * uniformity(*inputs, Hanon()), inputs)
    for one, three in zip(once, thrice, strict=True):
        torch.testing.assert_close(3 * one, three)


@pytest.mark.parametrize("d", [8, 33])
def test_threads_share_out_the_entities(d: int) -> None:
    """More threads than tiles, and a range that ends within a tile."""
    inputs = [x.requires_grad_() for x in draw(5, 700, d, 0.3, seed=3)]
    before = torch.get_num_threads()
    results = []
    for threads in (1, 2, 3, 16):
        torch.set_num_threads(threads)
        results.append(torch.autograd.grad(uniformity(*inputs, Hanon()), inputs))
    torch.set_num_threads(before)
    for other in results[1:]:
        torch.testing.assert_close(other, results[0])


def test_another_default_type_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [x.requires_grad_() for x in draw(20, 500, 8, 0.3, seed=0)]
    usual = torch.autograd.grad(uniformity(*inputs, Hanon()), inputs)
    monkeypatch.setattr(native, "workspace", native._Workspace())
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.bfloat16)
        found = torch.autograd.grad(uniformity(*inputs, Hanon()), inputs)
    finally:
        torch.set_default_dtype(before)
    assert all(torch.equal(one, two) for one, two in zip(usual, found, strict=True))

"""Both terms of the HaLE loss against plain scalars, and against autograd in float64."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from hale import engine
from hale.engine.activations import Activation, Arctanh, Double, Halin, Hanon, Identity, XExp
from hale.engine.contrast import Contrast
from hale.engine.rows import with_rows
from hale.errors import InputError

pytestmark = pytest.mark.usefixtures("engine")

ACTIVATIONS = [
    *(Hanon(3.0, 6.0), Hanon(2.0, 100.0), Halin(10.0, 10.0), Halin(5.0, 1.0)),
    *(XExp(), Double(), Arctanh(), Identity()),
]
Pairs = tuple[Tensor, Tensor]


def contrast(
    queries: Tensor,
    entities: Tensor,
    scale: Tensor,
    tails: Tensor,
    drawn: Tensor,
    h: Activation,
    **options: object,
) -> Contrast:
    """With the tails looked up among the entities, as a training step does."""
    whole, rows = with_rows(entities, tails)
    return engine.contrast(queries, rows, whole, scale, drawn, h, **options)


def reference(
    queries: Tensor,
    entities: Tensor,
    scale: Tensor,
    tails: Tensor,
    drawn: Tensor,
    h: Activation,
    weight: float,
    square: bool,
    without: Pairs | None,
) -> tuple[Tensor, Tensor]:
    """The two terms by their definitions."""
    activated = h(scale * (queries - entities[tails]).square().sum(dim=1))
    alignment = (activated**2 if square else activated).mean()
    far = (queries[drawn][:, None] - entities[None]).square().sum(dim=-1)
    values = h(scale[drawn][:, None] * far)
    if without is not None:
        values = values.clone()
        values[without] = torch.inf
    return weight * alignment, torch.logsumexp(-values, dim=1).mean()


def draw(b: int, n: int, d: int, m: int, size: float, seed: int) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    return (
        size * torch.randn(b, d, generator=generator),
        size * torch.randn(n, d, generator=generator),
        0.2 + torch.rand(b, generator=generator),
        torch.randint(n, (b,), generator=generator),
        torch.randperm(b, generator=generator)[:m],
    )


def assert_agreement(
    inputs: tuple[Tensor, ...],
    h: Activation,
    *,
    weight: float = 1.0,
    square: bool = True,
    without: Pairs | None = None,
) -> None:
    """Values and all three gradients, float32 against float64."""
    *vectors, tails, drawn = inputs
    exact = [x.double().requires_grad_() for x in vectors]
    rough = [x.clone().requires_grad_() for x in vectors]
    pulled, spread = reference(*exact, tails, drawn, h, weight, square, without)  # type: ignore[arg-type]
    found = contrast(
        *rough,
        tails,
        drawn,
        h,
        weight=weight,
        square=square,
        without=without,  # type: ignore[arg-type]
    )
    assert weight * found.alignment.item() == pytest.approx(pulled.item(), rel=1e-4, abs=1e-6)
    assert found.uniformity.item() == pytest.approx(spread.item(), rel=1e-4, abs=1e-5)
    assert found.total.item() == pytest.approx((pulled + spread).item(), rel=1e-4, abs=1e-5)
    assert not found.alignment.requires_grad
    wanted = torch.autograd.grad(pulled + spread, exact)
    # float32 rounds a difference of sums by the size of the sums: those of each term alone
    alone = [
        torch.autograd.grad(term, exact)
        for term in reference(*exact, tails, drawn, h, weight, square, without)
    ]  # type: ignore[arg-type]
    given = torch.autograd.grad(found.total, rough)
    for i, name in enumerate(("queries", "entities", "scale")):
        room = sum(term[i].abs().max().item() for term in alone)
        worst = (given[i].double() - wanted[i]).abs().max().item()
        assert worst <= 1e-4 * room + 2e-6, f"gradient of {name}: {worst} at {room}"


@pytest.mark.parametrize("h", [Hanon(3.0, 6.0), Halin(10.0, 10.0)], ids=str)
@pytest.mark.parametrize("square", [True, False])
def test_bounds_of_their_own(h: Hanon | Halin, square: bool) -> None:
    """Queries of two bounds: the shares of each kind, each under an activation with its bound."""
    *vectors, tails, _ = draw(20, 50, 6, 20, 0.4, seed=3)
    sharp = torch.arange(20) % 3 == 0
    gammas = torch.where(sharp, 9.0, 4.0)
    drawn = torch.tensor([0, 1, 2, 3, 5, 9, 10])  # three sharp ones of seven
    exact = [x.double().requires_grad_() for x in vectors]
    rough = [x.clone().requires_grad_() for x in vectors]
    total = torch.zeros((), dtype=torch.float64)
    for kind, gamma in ((sharp, 9.0), (~sharp, 4.0)):
        rows = kind.nonzero().squeeze(1)
        mine = torch.isin(rows, drawn).nonzero().squeeze(1)
        queries, entities, scale = exact
        pulled, spread = reference(
            queries[rows],
            entities,
            scale[rows],
            tails[rows],
            mine,
            replace(h, gamma=gamma),
            0.3,
            square,
            None,
        )
        total = total + len(rows) / 20 * pulled + len(mine) / 7 * spread
    found = contrast(*rough, tails, drawn, h, weight=0.3, square=square, gammas=gammas)
    assert found.total.item() == pytest.approx(total.item(), rel=1e-4)
    wanted = torch.autograd.grad(total, exact)
    for one, other in zip(torch.autograd.grad(found.total, rough), wanted, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-3, atol=1e-5)
    without_gradient = contrast(*vectors, tails, drawn, h, weight=0.3, square=square, gammas=gammas)
    assert without_gradient.total.item() == pytest.approx(total.item(), rel=1e-4)


def test_by_hand() -> None:
    queries = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    entities = torch.tensor([[0.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    scale = torch.tensor([1.0, 0.5])
    # positives (0, entity 1): 4, and (1, entity 2): 0.5 * 1; query 1 is drawn: 0.5 2.5 0.5
    found = contrast(
        queries, entities, scale, torch.tensor([1, 2]), torch.tensor([1]), Identity(), weight=2.0
    )
    assert found.alignment.item() == pytest.approx((16 + 0.25) / 2)
    spread = math.log(math.exp(-0.5) + math.exp(-2.5) + math.exp(-0.5))
    assert found.uniformity.item() == pytest.approx(spread)
    assert found.total.item() == pytest.approx(16.25 + spread)
    plain = contrast(
        queries, entities, scale, torch.tensor([1, 2]), torch.tensor([1]), Identity(), square=False
    )
    assert plain.alignment.item() == pytest.approx((4 + 0.5) / 2)


@pytest.mark.parametrize("h", ACTIVATIONS, ids=str)
@pytest.mark.parametrize("square", [True, False])
@pytest.mark.parametrize(("b", "n", "d", "m"), [(1, 1, 1, 1), (7, 130, 3, 2), (300, 400, 33, 100)])
def test_against_autograd(h: Activation, square: bool, b: int, n: int, d: int, m: int) -> None:
    assert_agreement(draw(b, n, d, m, 0.15, seed=b), h, weight=0.7, square=square)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_against_autograd_on_drawn_shapes(data: st.DataObject) -> None:
    h = data.draw(st.sampled_from(ACTIVATIONS))
    b, n = (data.draw(st.integers(1, top)) for top in (40, 300))
    d = data.draw(st.integers(1, 9) | st.sampled_from([17, 20, 33]))
    m = data.draw(st.integers(1, b))
    inputs = draw(
        b, n, d, m, data.draw(st.sampled_from([0.0, 0.05, 0.2])), data.draw(st.integers(0, 999))
    )
    without = None
    if n > 1 and data.draw(st.booleans()):
        left = data.draw(
            st.sets(st.tuples(st.integers(0, m - 1), st.integers(0, n - 2)), min_size=1)
        )
        order = data.draw(st.permutations(sorted(left)))  # any order will do
        without = (torch.tensor([r for r, _ in order]), torch.tensor([c for _, c in order]))
    assert_agreement(inputs, h, weight=data.draw(st.sampled_from([0.0, 0.5, 3.0])), without=without)


def test_the_same_bits_twice() -> None:
    inputs = draw(500, 60, 32, 20, 0.2, seed=3)  # tails repeat
    gradients = []
    for _ in range(2):
        *vectors, tails, drawn = (x.clone() for x in inputs)
        for x in vectors:
            x.requires_grad_()
        total = contrast(*vectors, tails, drawn, Hanon()).total  # type: ignore[misc]
        gradients.append(torch.autograd.grad(2.5 * total, vectors))
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))


def test_values_alone_and_other_kinds_of_ids() -> None:
    queries, entities, scale, tails, drawn = draw(30, 50, 4, 7, 0.2, seed=1)
    without = (torch.tensor([0, 3], dtype=torch.int32), torch.tensor([5, 1], dtype=torch.int32))
    wide = contrast(
        queries.requires_grad_(), entities, scale, tails, drawn, Hanon(), without=without
    )
    with torch.no_grad():
        plain = contrast(
            queries, entities, scale, tails.int(), drawn.int(), Hanon(), without=without
        )
    assert not plain.total.requires_grad
    for one, other in zip(wide, plain, strict=True):
        assert one.item() == pytest.approx(other.item(), rel=1e-6)


def test_wrong_inputs_are_told() -> None:
    queries, entities, scale, tails, drawn = draw(4, 5, 2, 2, 0.1, seed=0)
    with pytest.raises(IndexError):
        contrast(queries, entities, scale, tails + 5, drawn, Hanon())
    with pytest.raises(InputError, match=r"a tail for each of the queries \(4, 2\), got \(2, 2\)"):
        contrast(queries, entities, scale, tails[:2], drawn, Hanon())
    with pytest.raises(InputError, match="queries 0..3"):
        contrast(queries, entities, scale, tails, drawn + 4, Hanon())
    everything = (torch.zeros(5, dtype=torch.long), torch.arange(5))
    with pytest.raises(InputError, match="no entity at all"):
        contrast(queries, entities, scale, tails, drawn, Hanon(), without=everything)

"""Sums over blocks: equal to the whole where they are all, right in the mean, within the bound."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from hale.engine import estimate as estimates
from hale.engine import mean_log_sum, uniformity
from hale.engine.activations import Activation, Arctanh, Double, Halin, Hanon, Identity
from hale.engine.blocks import Blocks
from hale.engine.estimate import Estimate, estimate, has_floor, size_for, spread_bound
from hale.models import make_model
from hale.objectives import HaLE
from hale.settings import make_settings
from hale.training.block import blocks_of
from tests.conftest import ring

pytestmark = pytest.mark.usefixtures("engine")

M, N, D = 5, 240, 6
BOUNDED = [Hanon(3.0, 6.0), Hanon(2.0, 50.0), Halin(10.0, 5.0), Arctanh()]


def draw(seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return (
        0.3 * torch.randn(M, D, generator=generator),
        0.3 * torch.randn(N, D, generator=generator),
        0.5 + torch.rand(M, generator=generator),
    )


def weights(inputs: tuple[Tensor, ...], h: Activation) -> Tensor:
    """exp(-h) of every pair, by the definition: (m, N)."""
    queries, entities, scale = (x.double() for x in inputs)
    far = (queries[:, None] - entities[None]).square().sum(dim=-1)
    return (-h(scale[:, None] * far)).exp()


def left_out() -> Tensor:
    """A tenth of all pairs, and none at all of the first query."""
    mask = torch.rand(M, N, generator=torch.Generator().manual_seed(7)) < 0.1
    mask[0] = False
    return mask


def test_the_formula_by_hand() -> None:
    """N = 10, s = 4, K = 3, k = 1, gamma = ln 2: Z = 2.5 S + (2.5 - 3) / 2."""
    made = estimate(
        10,
        4,
        bounds=torch.tensor([math.log(2)]),
        left_out=torch.tensor([3]),
        left_out_here=torch.tensor([1]),
    )
    assert made.ratio == 2.5
    assert made.bases is not None
    assert made.bases.item() == pytest.approx(-0.25)
    assert made.totals(torch.tensor([2.0])).item() == pytest.approx(4.75)
    assert made.totals(torch.tensor([2.0]), torch.tensor([1.0])).item() == pytest.approx(
        5 - 0.25 * math.e
    )


def test_the_bound_by_hand() -> None:
    """A share p of the weights 1, the others a: the worst p is a / (1 + a), and spreads by sinh."""
    gamma = 3.0
    floor = math.exp(-gamma)

    def spread(p: float) -> float:
        return math.sqrt(p * (1 - p)) * (1 - floor) / (floor + p * (1 - floor))

    worst = max(range(1, 10_000), key=lambda i: spread(i / 10_000)) / 10_000
    assert worst == pytest.approx(floor / (1 + floor), abs=1e-4)
    assert spread(worst) == pytest.approx(math.sinh(gamma / 2), rel=1e-4)
    # four of a hundred draws without replacement: 96 / 99 of a fourth of the variance
    assert spread_bound(gamma, 100, 4) == pytest.approx(math.sinh(1.5) * math.sqrt(96 / 99 / 4))
    assert spread_bound(gamma, 100, 100) == 0
    assert spread_bound(6.0, 10**6, size_for(6.0, 10**6)) <= 1
    assert spread_bound(6.0, 10**6, size_for(6.0, 10**6) - 1) > 1
    assert size_for(100.0, 50) == 50


@pytest.mark.parametrize("h", [*BOUNDED, Double(), Identity()], ids=str)
def test_all_entities_as_a_block_are_the_whole_sum(h: Activation) -> None:
    mask = left_out()
    without = mask.nonzero().unbind(dim=1)
    counts = mask.sum(dim=1)
    bounds = torch.full((M,), h.bound) if math.isfinite(h.bound) else None
    made = estimate(N, N, bounds=bounds, left_out=counts, left_out_here=counts)
    inputs = [[x.clone().requires_grad_() for x in draw()] for _ in range(2)]
    whole = uniformity(*inputs[0], h, without)
    blocked = uniformity(*inputs[1], h, without, estimate=made)
    assert blocked.item() == pytest.approx(whole.item(), abs=1e-5)
    gradients = [
        torch.autograd.grad(value, given)
        for value, given in zip((whole, blocked), inputs, strict=True)
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("h", [*BOUNDED, Double()], ids=str)
def test_the_mean_over_many_draws_is_the_whole_sum(h: Activation) -> None:
    """Z of 800 blocks through the engine, and its spread under the bound where there is one."""
    size, draws = 40, 800
    inputs, mask = draw(), left_out()
    queries, entities, scale = inputs
    whole = (weights(inputs, h) * ~mask).sum(dim=1)
    blocks, found = Blocks(N, size, seed=5), []
    bounds = torch.full((M,), h.bound) if math.isfinite(h.bound) else None
    for step in range(draws):
        ids = blocks.at(step).ids
        here = mask[:, ids]
        made = estimate(
            N, size, bounds=bounds, left_out=mask.sum(dim=1), left_out_here=here.sum(dim=1)
        )
        per_query = [
            uniformity(
                queries[i : i + 1],
                entities[ids],
                scale[i : i + 1],
                h,
                here[i : i + 1].nonzero().unbind(dim=1),
                estimate=made.rows(slice(i, i + 1)),
            )
            for i in range(M)
        ]
        found.append(torch.stack(per_query).double().exp())
    sums = torch.stack(found)
    # draws of one pass are not independent: they are the less spread for it
    error = sums.std(dim=0) / draws**0.5
    assert ((sums.mean(dim=0) - whole).abs() <= 4 * error + 1e-6 * whole).all()
    if bounds is not None and h.bound < 20:
        assert (sums.std(dim=0) / whole).max() <= spread_bound(h.bound, N, size)


@pytest.mark.parametrize("h", [*BOUNDED, Double(), Identity()], ids=str)
def test_values_and_gradients_of_a_block_against_autograd(h: Activation) -> None:
    """Ratio, bases and one more term in each sum, by plain expressions in float64."""
    size = 130
    inputs, mask = draw(), left_out()[:, :size]
    queries, entities, scale = inputs
    bounds = torch.full((M,), h.bound) if math.isfinite(h.bound) else None
    here = mask.sum(dim=1)
    made = estimate(N, size, bounds=bounds, left_out=here + 3, left_out_here=here)
    others = torch.linspace(-3, 1, M)
    vectors = (queries, entities[:size], scale)
    for term in (None, others):
        rough = [x.clone().requires_grad_() for x in (*vectors, others)]
        exact = [x.double().requires_grad_() for x in (*vectors, others)]
        plain = exact_value(exact, h, mask, made, beside=term is not None)
        pairs = mask.nonzero().unbind(dim=1)
        beside = None if term is None else rough[3]
        value = uniformity(*rough[:3], h, pairs, estimate=made, others=beside)
        assert value.item() == pytest.approx(plain.item(), rel=1e-5, abs=1e-6)
        used = 3 if term is None else 4
        wanted = torch.autograd.grad(plain, exact[:used])
        for one, other in zip(torch.autograd.grad(value, rough[:used]), wanted, strict=True):
            torch.testing.assert_close(one.double(), other, rtol=2e-4, atol=2e-6)


def exact_value(
    inputs: list[Tensor], h: Activation, mask: Tensor, made: Estimate, *, beside: bool
) -> Tensor:
    queries, entities, scale, others = inputs
    far = (queries[:, None] - entities[None]).square().sum(dim=-1)
    sums = ((-h(scale[:, None] * far)).exp() * ~mask).sum(dim=1)
    total = made.ratio * sums + (0 if made.bases is None else made.bases)
    return (total + (others.exp() if beside else 0)).log().mean()


def test_the_bound_holds_and_is_met_by_the_worst_weights() -> None:
    """Exact spread of Z over all pairs of 40 weights: one at 1, the others at the floor."""
    gamma, n = math.log(39), 40
    weights = [1.0] + [math.exp(-gamma)] * (n - 1)
    whole = sum(weights)
    pairs = [n / 2 * (a + b) / whole for i, a in enumerate(weights) for b in weights[:i]]
    mean = sum(pairs) / len(pairs)
    spread = math.sqrt(sum((z - mean) ** 2 for z in pairs) / len(pairs))
    assert mean == pytest.approx(1.0)
    assert spread == pytest.approx(spread_bound(gamma, n, 2), rel=1e-3)
    assert spread <= spread_bound(gamma, n, 2) * (1 + 1e-12)


@pytest.mark.parametrize("gamma", [80.0, 1000.0])
def test_a_bound_beyond_what_a_float_can_tell_is_none(gamma: float) -> None:
    assert not has_floor(gamma)
    assert has_floor(60.0)
    settings = make_settings(gamma=gamma, block=30, epochs=1, dim=4, queries=5, batch_size=20)
    graph = ring(60)
    known = graph.known("train")
    objective = HaLE.of(settings)
    model = make_model("rote", graph.size, 4)
    loss = objective(
        model,
        torch.tensor(graph.train[:20]),
        torch.Generator(),
        known,
        Blocks(60, 30, seed=0).at(0),
    )
    assert loss.total.isfinite()
    assert blocks_of(settings, 60) is not None


def test_other_terms_are_not_written_to() -> None:
    others = torch.zeros(M, dtype=torch.float64)
    uniformity(*(x.requires_grad_() for x in draw()), Identity(), others=others)
    assert not others.any()


def test_a_query_that_its_block_has_nothing_for_has_the_other_term_alone() -> None:
    queries, entities, scale = (x.clone().requires_grad_() for x in draw())
    others = torch.full((M,), -0.5, requires_grad=True)
    rows = torch.zeros(N, dtype=torch.long)
    value = uniformity(
        queries, entities, scale, Identity(), (rows, torch.arange(N)), others=others,
        estimate=Estimate(2.0),
    )  # fmt: skip
    rest = uniformity(
        queries[1:], entities, scale[1:], Identity(), others=others[1:], estimate=Estimate(2.0)
    )
    assert value.item() == pytest.approx((-0.5 + 4 * rest.item()) / 5, rel=1e-5)
    gradients = torch.autograd.grad(value, (queries, entities, scale, others))
    assert all(one.isfinite().all() for one in gradients)
    assert not gradients[0][0].any()
    assert gradients[3][0].item() == pytest.approx(1 / M)


@pytest.mark.parametrize("bounded", [False, True])
def test_log_sums_of_any_score_take_a_block_too(bounded: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(7, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    table = torch.randn(20, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    others = torch.randn(7, generator=generator, dtype=torch.float64, requires_grad=True)
    bases = torch.linspace(0.5, 2, 7, dtype=torch.float64) if bounded else None
    without = (torch.tensor([0, 0, 4]), torch.tensor([3, 5, 19]))
    value = mean_log_sum(
        lambda one, other: one @ other.T,
        (rows,),
        (table,),
        without=without,
        estimate=Estimate(2.5, bases),
        others=others,
    )
    scores = rows @ table.T
    kept = torch.ones(7, 20)
    kept[without] = 0
    total = 2.5 * (scores.exp() * kept).sum(dim=1) + (0 if bases is None else bases)
    plain = (total + others.exp()).log().mean()
    assert value.item() == pytest.approx(plain.item())
    inputs = (rows, table, others)
    wanted = torch.autograd.grad(plain, inputs)
    for one, other in zip(torch.autograd.grad(value, inputs), wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_the_whole_is_no_estimate() -> None:
    assert Estimate(1.0, None) == estimates.WHOLE

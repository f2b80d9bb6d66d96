from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from hale.engine import library as kernel
from hale.engine import native, uniformity
from hale.engine.activations import make_activation
from hale.engine.estimate import Estimate
from hale.engine.group import Group
from hale.engine.l2_sweep import Queries, l2_sweep
from hale.engine.shard_sums import LogSums, log_sums
from hale.engine.shards import Shards
from tests.ranks import Ranks

ACTIVATIONS = ["hanon", "halin", "xexp", "double", "arctanh", "identity", "sigmoid", "spline"]
ENGINES = ["native", "tiles"] if kernel.builds() else ["tiles"]
SIZE, QUERIES, DIM = 300, 20, 17  # so that the last dimension is alone in its vector


def drawn(
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor]]:
    """Queries, scales, entities, and pairs to leave out."""
    generator = torch.Generator().manual_seed(1)
    numbers = [torch.randn(n, DIM, generator=generator) * 0.3 for n in (QUERIES, SIZE)]
    scale = torch.rand(QUERIES, 1, generator=generator) + 0.5
    pairs = torch.unique(torch.randint(0, QUERIES * SIZE, (90,), generator=generator))
    queries, entities = (x.to(dtype) for x in numbers)
    return queries, scale.to(dtype), entities, (pairs // SIZE, pairs % SIZE)


def swept(group: Group, name: str, dtype: torch.dtype, gamma: float = 6.0) -> LogSums:
    """The share of a rank, in which everything is spread over the group."""
    queries, scale, entities, (rows, columns) = drawn(dtype)
    shards = Shards(SIZE, group.size)
    span = shards.span(group.rank)
    inside = torch.from_numpy(span.holds(columns.numpy()))
    sweep = l2_sweep(
        make_activation(name, beta=3.0, gamma=gamma),
        Queries(queries, scale),
        entities[span.first : span.last],
        shards.begins_of(group.rank) - span.first,
        (rows[inside], columns[inside] - span.first),
    )
    shares = torch.full((QUERIES,), 1 / QUERIES, dtype=torch.float64)
    estimate = Estimate(2.5, torch.linspace(0.1, 2, QUERIES, dtype=torch.float64))
    others = torch.linspace(-3, 1, QUERIES, dtype=torch.float64)
    return log_sums(group, sweep, shares, estimate, others)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_as_the_uniformity_term(
    name: str, engine: str, choose_engine: Callable[[str], None]
) -> None:
    choose_engine(engine)
    found = swept(Group(), name, torch.float32)
    queries, scale, entities, without = drawn()
    leaves = [x.double().requires_grad_() for x in (queries, entities, scale.squeeze(1))]
    others = torch.linspace(-3, 1, QUERIES, dtype=torch.float64).requires_grad_()
    bases = torch.linspace(0.1, 2, QUERIES, dtype=torch.float64)
    activation = make_activation(name, beta=3.0, gamma=6.0)
    value = uniformity(*leaves, activation, without, estimate=Estimate(2.5, bases), others=others)
    value.backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(found.logs.mean(), value.detach(), rtol=1e-5, atol=1e-5)
    by_query, by_scale = found.by_rows
    (by_entity,) = found.by_tables
    wanted = [leaf.grad for leaf in leaves]
    gradients = (by_query, by_entity, None if by_scale is None else by_scale.squeeze(1))
    for one, other in zip(gradients, wanted, strict=True):
        assert one is not None
        torch.testing.assert_close(one.double(), other, rtol=2e-3, atol=2e-6)
    assert found.by_others is not None
    torch.testing.assert_close(found.by_others, others.grad, rtol=1e-4, atol=1e-7)


def on_threads(group: Group, name: str, threads: int) -> list[Tensor | None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = swept(group, name, torch.float32)
    finally:
        torch.set_num_threads(before)
    return [found.logs, *found.by_rows, found.by_others, *found.by_tables]


@pytest.mark.parametrize("name", ["hanon", "identity"])
def test_neither_ranks_nor_threads_change_a_bit(ranks: Ranks, name: str) -> None:
    (*alone, entities) = on_threads(Group(), name, 1)
    for size, threads in ((1, 2), (2, 1), (3, 2)):
        parts = ranks(size, on_threads, name, threads)
        for *found, _ in parts:
            assert all(torch.equal(one, other) for one, other in zip(found, alone, strict=True))
        assert torch.equal(torch.cat([part[-1] for part in parts]), entities)


@pytest.mark.parametrize("room", [16 * SIZE, 37 * QUERIES])
def test_how_much_room_there_is_changes_no_bit(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """16 queries at once, of 20; 37 entities at once, of 300. Ranks have more room, together."""
    whole = on_threads(Group(), "hanon", 1)
    monkeypatch.setattr(native, "BLOCK_ELEMENTS", room)
    for threads in (1, 2):
        parted = on_threads(Group(), "hanon", threads)
        for one, other in zip(whole, parted, strict=True):
            assert torch.equal(one, other)


def test_a_query_that_is_left_nothing_adds_nothing() -> None:
    queries, scale, entities, _ = drawn()
    everything = torch.zeros(SIZE, dtype=torch.long), torch.arange(SIZE)
    activation = make_activation("identity", beta=3.0, gamma=6.0)
    begins = Shards(SIZE, 1).begins
    sweep = l2_sweep(activation, Queries(queries, scale), entities, begins, everything)
    shares = torch.full((QUERIES,), 1 / QUERIES, dtype=torch.float64)
    found = log_sums(Group(), sweep, shares, Estimate(), torch.zeros(QUERIES))
    assert found.logs[0] == 0  # the other term alone
    assert found.by_rows[0] is not None
    assert not found.by_rows[0][0].any()
    assert np.isfinite(found.logs.numpy()).all()


@pytest.mark.skipif(not kernel.builds(), reason="the kernel was not built")
@pytest.mark.parametrize("name", ["hanon", "sigmoid", "spline"])
def test_whether_weights_need_a_floor_is_asked_for_each_bound(
    name: str, choose_engine: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One bound after the other in one process, and both at once in blocks of queries."""
    choose_engine("native")
    queries, scale, entities, _ = drawn()
    nothing = torch.empty(0, dtype=torch.long)

    def peaks(*gammas: float) -> Tensor | None:
        bounds = torch.tensor(gammas).repeat_interleave(QUERIES // len(gammas))
        whole = np.array([0, SIZE])
        activation = make_activation(name, beta=3.0, gamma=max(gammas))
        asked = Queries(queries, scale, bounds)
        return l2_sweep(activation, asked, entities, whole, (nothing, nothing)).peaks()

    assert peaks(6.0) is None
    steep = peaks(90.0)
    assert steep is not None
    assert bool((steep < 0).all())
    assert peaks(6.0) is None
    monkeypatch.setattr(native, "BLOCK_ELEMENTS", 16 * SIZE)  # sixteen queries, then four
    mixed = peaks(90.0, 90.0, 90.0, 6.0)
    assert mixed is not None
    assert torch.equal(mixed[:15], steep[:15])

"""How well a sum over a block of entities stands for the sum over all: bias and spread.

Vectors are drawn, or those of a run are taken. For each activation the sum Z of some queries over
all entities is worked out in float64, and its estimate by many blocks; what is told is the mean
error beside its standard error, the spread as a share of Z, and its bound (about: it is for queries
that leave out just the share LEFT_OUT).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hale.engine.activations import ACTIVATIONS, Activation, make_activation
from hale.engine.blocks import Blocks
from hale.engine.estimate import estimate, has_floor, spread_bound
from hale.errors import InputError
from hale.runs.run import Run

GAMMAS = (5.0, 10.0)
BETA = 3.0
LEFT_OUT = 0.01  # the share of entities that a query leaves out, at random


def block_rows(
    run: Run | None = None,
    *,
    n: int = 40_943,
    dim: int = 32,
    sizes: Sequence[int] = (512, 4096),
    queries: int = 32,
    draws: int = 500,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """One row per activation and size of a block."""
    vectors = _drawn(n, dim, queries, seed) if run is None else _of_run(run, queries, seed)
    n = len(vectors[1])
    smaller = [size for size in sizes if size < n]
    if not smaller or min(smaller) < 1:
        raise InputError(f"A block has 1 to {n - 1:,} of the {n:,} entities, got {[*sizes]}.")
    places, entities, scale = (x.double() for x in vectors)
    distances = torch.cdist(places, entities).square() * scale[:, None]
    generator = torch.Generator().manual_seed(seed + 1)
    kept = torch.rand(distances.shape, generator=generator) >= LEFT_OUT
    rows = []
    for h in _activations():
        weights = (-h.value_and_slope(distances)[0]).exp() * kept  # (m, N)
        rows += [_row(h, weights, kept, size, draws, seed) for size in smaller]
    return rows


def _row(
    h: Activation, weights: Tensor, kept: Tensor, size: int, draws: int, seed: int
) -> dict[str, Any]:
    n, whole = weights.shape[1], weights.sum(dim=1)
    bounds = torch.full((len(weights),), h.bound) if has_floor(h.bound) else None
    blocks, found = Blocks(n, size, seed), []
    for step in range(draws):
        ids = blocks.at(step).ids
        made = estimate(
            n,
            size,
            bounds=bounds,
            left_out=(~kept).sum(dim=1),
            left_out_here=(~kept[:, ids]).sum(dim=1),
        )
        found.append(made.totals(weights[:, ids].sum(dim=1)) / whole)
    ratios = torch.stack(found)  # (draws, m)
    spread = ratios.std(dim=0)
    return {
        "activation": h.name,
        "gamma": h.bound if math.isfinite(h.bound) else None,
        "n": n,
        "block": size,
        "bias": ratios.mean().item() - 1,
        "standard_error": (spread.square().mean() / draws / len(whole)).sqrt().item(),
        "spread": spread.mean().item(),
        "largest_spread": spread.max().item(),
        "bound": spread_bound(h.bound, n, size) / (1 - LEFT_OUT) if bounds is not None else None,
        "log_bias": ratios.log().mean().item(),
        "log_spread": ratios.log().std(dim=0).mean().item(),
    }


def _activations() -> list[Activation]:
    made: list[Activation] = []
    for name in ACTIVATIONS:
        gammas = GAMMAS if name in ("hanon", "halin") else GAMMAS[:1]
        made += [make_activation(name, beta=BETA, gamma=gamma) for gamma in gammas]
    return made


def _drawn(n: int, dim: int, queries: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors as far from each other as trained ones are: squared distances about two."""
    generator = torch.Generator().manual_seed(seed)
    size = dim**-0.5
    return (
        size * torch.randn(queries, dim, generator=generator),
        size * torch.randn(n, dim, generator=generator),
        torch.ones(queries),
    )


@torch.no_grad()
def _of_run(run: Run, queries: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Query vectors of training facts, all entities, and the relations' scales."""
    generator = torch.Generator().manual_seed(seed)
    some = torch.randint(len(run.graph.train), (queries,), generator=generator)
    head, relation, _ = torch.tensor(run.graph.train[some.numpy()]).unbind(dim=1)
    model = run.model.cpu()
    return model.query(head, relation), model.entities(), model.scale(relation)

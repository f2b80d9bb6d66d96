"""The uniformity term on tiles of entities, in plain torch calls on any device.

Write x_ij = c_i ||q_i - e_j||^2, w_ij = exp(-h(x_ij)), Z_i = sum_j w_ij and
g_ij = w_ij h'(x_ij). The value is mean_i log Z_i, and with k_i = 1 / (m Z_i)

    d/dq_i = -2 k_i c_i (q_i sum_j g_ij - sum_j g_ij e_j)
    d/de_j = -2 (e_j sum_i k_i c_i g_ij - sum_i k_i c_i g_ij q_i)
    d/dc_i = -k_i sum_j g_ij ||q_i - e_j||^2

Where the entities are a block that stands for all (see estimate), Z_i is ratio sum_j w_ij + base_i,
and k_i has the ratio above it. ``others`` adds a term exp(o_i) to each Z_i.

With lifted vectors (see geometry) x is one matrix product, and one more with
the lifted entities yields every sum over j. The sums over i wait for Z, so g
is kept until the sweep over the entities is done: the only tensor of size m * N,
bounded by taking the queries in blocks, and gone when the sweep returns.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from hale.engine import geometry
from hale.engine.activations import Activation
from hale.engine.estimate import WHOLE, Estimate, has_floor

# (query, entity) index tensors of equal length
Pairs = tuple[Tensor, Tensor]

# Elements of a tile: a few such buffers fit a core's cache (measured best at 2^17 to 2^19).
TILE_ELEMENTS = 1 << 18
# Elements of g kept at once: 128 MB in float32.
BLOCK_ELEMENTS = 1 << 25


class Gradients(NamedTuple):
    """Of the value: (m, d), (N, d), (m,) and, where there are others, (m,)."""

    queries: Tensor
    entities: Tensor
    scale: Tensor
    others: Tensor | None = None


class Swept(NamedTuple):
    """What one sweep over the entities yields."""

    value: Tensor
    gradients: Gradients | None


@torch.no_grad()
def sweep(
    queries: Tensor,
    entities: Tensor,
    scale: Tensor,
    activation: Activation,
    without: Pairs | None,
    *,
    gradients: bool,
    gammas: Tensor | None = None,
    estimate: Estimate = WHOLE,
    others: Tensor | None = None,
) -> Swept:
    """The value of the uniformity term and, on request, its gradients."""
    m = len(queries)
    lifted = geometry.lift_candidates(entities)
    entity_gradient = torch.zeros_like(entities) if gradients else None
    block = max(1, min(m, BLOCK_ELEMENTS // len(entities))) if gradients else m
    parts = []
    for start in range(0, m, block):
        rows = slice(start, start + block)
        parts.append(
            _sweep_block(
                queries[rows],
                lifted,
                scale[rows],
                activation,
                _rows_of(without, start, block),
                entity_gradient,
                count=m,
                gammas=None if gammas is None else gammas[rows],
                estimate=estimate.rows(rows),
                others=None if others is None else others[rows],
            )
        )
    value = torch.cat([part.logs for part in parts]).mean().to(queries.dtype)
    if entity_gradient is None:
        return Swept(value, None)
    return Swept(
        value,
        Gradients(
            torch.cat([part.by_query for part in parts]),
            entity_gradient,
            torch.cat([part.by_scale for part in parts]),
            None if others is None else torch.cat([part.by_others for part in parts]),
        ),
    )


class _Part(NamedTuple):
    """Of a block of queries: log Z (b,), and the gradients by query, scale and others."""

    logs: Tensor
    by_query: Tensor
    by_scale: Tensor
    by_others: Tensor


def _sweep_block(
    queries: Tensor,  # (b, d)
    lifted: Tensor,  # (N, d + 2)
    scale: Tensor,  # (b,)
    activation: Activation,
    without: Pairs | None,
    entity_gradient: Tensor | None,  # (N, d), added to
    *,
    count: int,
    gammas: Tensor | None,  # (b,)
    estimate: Estimate,
    others: Tensor | None,  # (b,)
) -> _Part:
    """A block of queries."""
    b, d = queries.shape
    scaled = geometry.lift_queries(queries) * scale[:, None]
    tile = max(256, TILE_ELEMENTS // b)
    bound = activation.bound if gammas is None else float(gammas.max())
    bounded = has_floor(bound)  # then exp(-h) is in range, and sums need no running minimum
    own = None if gammas is None else gammas[:, None]
    cuts = _Cuts(without)

    total = queries.new_zeros(b)  # sum_j w
    pulled = queries.new_zeros(b, d + 2)  # sum_j g * lifted
    floor = queries.new_zeros(b) if bounded else queries.new_full((b,), torch.inf)
    kept: list[tuple[slice, Tensor, Tensor]] = []  # tile, g, floor when g was made
    for start in range(0, len(lifted), tile):
        columns = slice(start, start + tile)
        near = lifted[columns]
        x = torch.mm(scaled, near.T).clamp_min_(0)  # rounding can go below zero
        value, slope = activation.value_and_slope(x, own)
        left_out = cuts.within(start, tile)
        if left_out is not None:
            value[left_out] = torch.inf
        if not bounded:
            # Keep exp() in range: measure from the smallest value so far. Until a query
            # has met an entity that is not left out, its floor is infinite and counts as 0.
            lower = torch.minimum(floor, value.amin(dim=1))
            shrink = _exp_difference(lower, floor)
            total.mul_(shrink)
            pulled.mul_(shrink[:, None])
            floor = lower
            value.sub_(torch.where(floor.isinf(), 0.0, floor)[:, None])
        weight = value.neg_().exp_()
        total.add_(weight.sum(dim=1))
        if entity_gradient is not None:
            g = weight.mul_(slope)
            pulled.addmm_(g, near)
            kept.append((columns, g, floor))

    totals = estimate.totals(total, floor)
    logs = totals.log() - floor
    part = torch.ones_like(logs)  # of Z, without the other term
    by_query = by_scale = by_others = torch.empty(0)
    if others is not None:
        both = torch.logaddexp(logs, others.double())
        part, logs = (logs - both).exp(), both
        by_others = ((others.double() - both).exp() / count).to(queries.dtype)
    if entity_gradient is not None:
        share = part * estimate.ratio / (count * totals)  # k_i exp(-floor)
        # nothing where a block has nothing for the query
        share = torch.where(totals == 0, 0.0, share).to(queries.dtype)
        pull, pull_norms, mass = pulled[:, :d], pulled[:, d], pulled[:, d + 1]
        by_query = -2 * (share * scale)[:, None] * (queries * mass[:, None] - pull)
        norms = queries.square().sum(dim=1)
        by_scale = -share * (norms * mass + pull_norms - 2 * (queries * pull).sum(dim=1))
        for columns, g, seen in kept:
            push = share * scale if bounded else share * scale * _exp_difference(floor, seen)
            # (b, tile)^T (b, d + 1): sum_i push g q, and sum_i push g
            back = torch.mm(g.T, torch.cat((queries * push[:, None], push[:, None]), dim=1))
            vectors = lifted[columns, :d]
            step = torch.addcmul(back[:, :d], vectors, back[:, d:], value=-1)
            entity_gradient[columns].add_(step, alpha=2)
    return _Part(logs, by_query, by_scale, by_others)


def _exp_difference(lower: Tensor, upper: Tensor) -> Tensor:
    """exp(lower - upper) for lower <= upper; 0 when upper is infinite."""
    return torch.where(upper.isinf(), 0.0, (lower - upper).exp())


def _rows_of(without: Pairs | None, start: int, count: int) -> Pairs | None:
    """The pairs of a block of queries, rows counted from its start."""
    if without is None:
        return None
    rows, columns = without
    mine = (rows >= start) & (rows < start + count)
    return rows[mine] - start, columns[mine]


class _Cuts:
    """Left-out pairs, found by the tile that their entity lies in."""

    def __init__(self, without: Pairs | None) -> None:
        self.rows = self.columns = None
        if without is not None and len(without[0]):
            self.columns, order = torch.sort(without[1])
            self.rows = without[0][order]

    def within(self, start: int, tile: int) -> Pairs | None:
        """Pairs of the tile, columns counted from its start."""
        if self.rows is None or self.columns is None:
            return None
        ends = torch.tensor([start, start + tile], device=self.columns.device)
        low, high = torch.searchsorted(self.columns, ends).tolist()
        if low == high:
            return None
        return self.rows[low:high], self.columns[low:high] - start

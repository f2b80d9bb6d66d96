"""Log-sums over all entities of any score, in chunks of queries, with their gradients.

The uniformity term has a kernel of its own for squared L2 distances. For other scores, such as
inner products and hyperbolic distances, this is the general way: scores of a chunk of queries
with all entities, their log-sum, its gradients at once, and on to the next chunk. So no tensor
of size B * N is kept for the backward pass, and no score is computed twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from hale.engine.estimate import WHOLE, Estimate
from hale.engine.tiles import Pairs

# Scores held at once: 16 MB in float32, a few times over.
CHUNK_ELEMENTS = 1 << 22


def mean_log_sum(
    score: Callable[..., Tensor],
    rows: Sequence[Tensor | None],
    tables: Sequence[Tensor | None],
    *,
    without: Pairs | None = None,
    estimate: Estimate = WHOLE,
    others: Tensor | None = None,
    weights: Tensor | None = None,
) -> Tensor:
    """mean_i log sum_j exp(s_ij), differentiable in all rows and tables.

    ``score(*rows, *tables)`` yields s (b, N) for any chunk of the rows, each (B, ...); tables
    are handed over whole, the first being (N, ...). None stands for what a score does without.
    ``without`` is a pair of index tensors (row, entity) to leave out of the sums. Where the tables
    are of a block, ``estimate`` says how its sums stand for those over all. ``others`` (B,) is one
    more term in each sum, by its logarithm, in which the value is differentiable too. ``weights``
    (B,) make the mean a weighted one, sum_i w_i log_i / sum_i w_i.
    """
    shares = None
    if weights is not None:
        exact = weights.double()
        shares = exact / exact.sum()
    value: Tensor = _MeanLogSum.apply(  # type: ignore[no-untyped-call]
        score, 1 + len(rows), without, estimate, shares, others, *rows, *tables
    )
    return value


class _MeanLogSum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        score: Callable[..., Tensor],
        num_rows: int,
        without: Pairs | None,
        estimate: Estimate,
        shares: Tensor | None,
        *inputs: Tensor | None,  # others, rows, tables
    ) -> Tensor:
        wanted = ctx.needs_input_grad[5:]
        gradients = [
            torch.zeros_like(x) if x is not None and need else None
            for x, need in zip(inputs, wanted, strict=True)
        ]
        first, table = inputs[1], inputs[num_rows]
        assert first is not None
        assert table is not None
        count, num_entities = len(first), len(table)
        chunk = max(1, CHUNK_ELEMENTS // num_entities)
        total = first.new_zeros((), dtype=torch.float64)
        for start in range(0, count, chunk):
            part = slice(start, start + chunk)
            leaves = [
                None if x is None else (x[part] if i < num_rows else x).detach()
                for i, x in enumerate(inputs)
            ]
            asked = [
                leaf.requires_grad_()
                for leaf, need in zip(leaves, wanted, strict=True)
                if leaf is not None and need
            ]
            with torch.enable_grad():
                scores = score(*leaves[1:])
                if without is not None:
                    scores = _leave_out(scores, without, start)
                logs = _log_sums(scores, estimate.rows(part), leaves[0])
                summed = (
                    logs.sum() / count
                    if shares is None
                    else (shares[part].to(logs.dtype) * logs).sum()
                )
            total += summed.detach()
            if not asked:
                continue
            found = iter(torch.autograd.grad(summed, asked, allow_unused=True))
            for i, gradient in enumerate(gradients):
                if gradient is None:
                    continue
                piece = next(found)
                if piece is None:
                    continue
                if i < num_rows:
                    gradient[part] = piece
                else:
                    gradient += piece
        ctx.gradients = gradients
        return total.to(first.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        gradients, ctx.gradients = ctx.gradients, None
        return (*(None,) * 5, *(None if g is None else g * grad for g in gradients))


def _log_sums(scores: Tensor, estimate: Estimate, others: Tensor | None) -> Tensor:
    """Log Z of each row, with its other term: (b, N), (b,) -> (b,)."""
    if estimate.bases is None:
        logs = scores.logsumexp(dim=1) + math.log(estimate.ratio)
    else:  # scores are bounded, so nothing need be taken out
        logs = estimate.totals(scores.exp().sum(dim=1)).log().to(scores.dtype)
    return logs if others is None else torch.logaddexp(logs, others)


def _leave_out(scores: Tensor, without: Pairs, start: int) -> Tensor:
    rows, columns = without
    mine = (rows >= start) & (rows < start + len(scores))
    low = torch.full_like(rows[mine], -torch.inf, dtype=scores.dtype)
    return scores.index_put((rows[mine] - start, columns[mine]), low)

"""contrast(): both terms of the HaLE loss, from query vectors and entities."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from hale.engine import geometry, native, rows
from hale.engine.activations import Activation
from hale.engine.choice import choose
from hale.engine.estimate import WHOLE, Estimate
from hale.engine.tiles import Pairs
from hale.engine.uniformity import (
    all_within,
    check_bounds,
    check_inputs,
    check_pairs,
    handed_over,
    uniformity,
)
from hale.errors import InputError


class Contrast(NamedTuple):
    """The loss and its two terms, scalars; only the loss has gradients."""

    total: Tensor
    alignment: Tensor
    uniformity: Tensor


def contrast(
    queries: Tensor,
    tails: Tensor,
    entities: Tensor,
    scale: Tensor,
    drawn: Tensor,
    activation: Activation,
    *,
    weight: float = 1.0,
    square: bool = True,
    without: Pairs | None = None,
    gammas: Tensor | None = None,
    estimate: Estimate = WHOLE,
    weights: Tensor | None = None,
) -> Contrast:
    """The weighted pull of positives, and the uniformity of those queries that are drawn.

        weight mean_i h(c_i ||q_i - t_i||^2)^2 + uniformity of the queries drawn

    ``queries`` (B, d), ``tails`` (B, d), ``entities`` (N, d), ``scale`` (B,), in which the total
    is differentiable; ``drawn`` (m,) rows of queries, none twice; ``without`` and ``estimate`` as
    ``uniformity`` has them, their rows counting the drawn. Without ``square`` the
    positives are not squared. ``gammas`` (B,) are bounds of the activation for each query, in
    place of its own. ``weights`` (B,) make the first mean a weighted one,
    sum_i w_i h_i^2 / sum_i w_i.

    On the native engine positives cost one pass; elsewhere, and where no gradient is wanted, it is
    plain torch, the reference; so are positives that have weights.
    """
    check_inputs(queries, entities, scale)
    drawn = drawn.long()
    if tails.shape != queries.shape:
        raise InputError(
            f"contrast takes a tail for each of the queries {tuple(queries.shape)}, got "
            f"{tuple(tails.shape)}."
        )
    if drawn.dim() != 1 or not len(drawn) or not all_within(drawn, len(queries)):
        raise InputError(f"contrast draws from queries 0..{len(queries) - 1}, at least one.")
    if without is not None:
        check_pairs(without, len(drawn), len(entities), estimate)
    check_bounds(gammas, activation, queries)
    inputs = (queries, tails, entities, scale)
    learning = torch.is_grad_enabled() and any(x.requires_grad for x in inputs)
    native_runs = choose(queries, entities, scale, activation) is native.sweep
    if learning and native_runs and weights is None and tails.dtype == queries.dtype:
        found: tuple[Tensor, Tensor, Tensor] = _Contrast.apply(  # type: ignore[no-untyped-call]
            *inputs, drawn, activation, weight, square, without, gammas, estimate
        )
        return Contrast(*found)
    activated = activation(scale * geometry.squared_distance(queries, tails), gammas)
    pulled = activated.square() if square else activated
    shares = None if weights is None else weights.to(pulled.dtype) / weights.to(pulled.dtype).sum()
    alignment = pulled.mean() if shares is None else (shares * pulled).sum()
    spread = uniformity(
        queries.index_select(0, drawn),
        entities,
        scale.index_select(0, drawn),
        activation,
        without,
        _of(gammas, drawn),
        estimate,
    )
    return Contrast(weight * alignment + spread, alignment.detach(), spread.detach())


def _of(gammas: Tensor | None, drawn: Tensor) -> Tensor | None:
    return None if gammas is None else gammas.index_select(0, drawn)


class _Contrast(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        tails: Tensor,
        entities: Tensor,
        scale: Tensor,
        drawn: Tensor,
        activation: Activation,
        weight: float,
        square: bool,
        without: Pairs | None,
        gammas: Tensor | None,
        estimate: Estimate,
    ) -> tuple[Tensor, Tensor, Tensor]:
        swept = native.sweep(
            rows.gathered(queries.detach(), drawn),
            entities,
            scale.index_select(0, drawn),
            activation,
            without,
            gradients=True,
            gammas=_of(gammas, drawn),
            estimate=estimate,
        )
        assert swept.gradients is not None
        by_drawn, by_entity, by_drawn_scale, _ = swept.gradients
        activated, by_query, by_tail, by_scale = native.align(
            queries, tails, scale, activation, square=square, weight=weight, gammas=gammas
        )
        rows.add_rows(by_query, drawn, by_drawn)
        by_scale.index_add_(0, drawn, by_drawn_scale)
        ctx.gradients = (by_query, by_tail, by_entity, by_scale)
        alignment = (activated.square() if square else activated).mean()
        ctx.mark_non_differentiable(alignment, swept.value)
        return weight * alignment + swept.value, alignment, swept.value

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_parts: Tensor) -> tuple[Tensor | None, ...]:
        return (*handed_over(ctx, grad), *(None,) * 7)

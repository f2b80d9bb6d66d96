"""uniformity(): the one door to the engine."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hale.engine.activations import Activation
from hale.engine.choice import choose
from hale.engine.estimate import WHOLE, Estimate
from hale.engine.shapes import BY_GAMMA
from hale.engine.tiles import Pairs
from hale.errors import InputError


def uniformity(
    queries: Tensor,
    entities: Tensor,
    scale: Tensor,
    activation: Activation,
    without: Pairs | None = None,
    gammas: Tensor | None = None,
    estimate: Estimate = WHOLE,
    others: Tensor | None = None,
) -> Tensor:
    """How near the sampled queries are to all entities: smaller is more uniform.

        mean_i log sum_j exp(-h(c_i ||q_i - e_j||^2))         (the second term of the HaLE loss)

    ``queries`` (m, d), ``entities`` (N, d), ``scale`` (m,) -> a scalar,
    differentiable in all three. ``without`` is a pair of index tensors
    (query, entity), each pair at most once, to leave out of the sums; a query
    must keep at least one entity. ``gammas`` (m,) are bounds of the activation for each
    query, in place of its own. Where the entities are a block, ``estimate`` says how its sums
    stand for those over all. ``others`` (m,) is one more term in each sum, by its logarithm, in
    which the value is differentiable too.

    The gradients are found in the same sweep as the value, so nothing of size
    m * N is kept for the backward pass.
    """
    check_inputs(queries, entities, scale)
    if without is not None:
        check_pairs(without, len(queries), len(entities), estimate, others)
    check_bounds(gammas, activation, queries)
    value: Tensor = _Uniformity.apply(  # type: ignore[no-untyped-call]
        queries, entities, scale, others, activation, without, gammas, estimate
    )
    return value


class _Uniformity(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        entities: Tensor,
        scale: Tensor,
        others: Tensor | None,
        activation: Activation,
        without: Pairs | None,
        gammas: Tensor | None,
        estimate: Estimate,
    ) -> Tensor:
        sweep = choose(queries, entities, scale, activation)
        swept = sweep(
            queries,
            entities,
            scale,
            activation,
            without,
            gradients=any(ctx.needs_input_grad[:4]),
            gammas=gammas,
            estimate=estimate,
            others=others,
        )
        ctx.gradients = swept.gradients
        return swept.value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (*handed_over(ctx, grad), *(None,) * 4)


def handed_over(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """The gradients that a forward pass found, times the one that arrives."""
    # In a training step the factor is one: no pass over N * d numbers to multiply by it.
    one = grad.is_cpu and grad.item() == 1.0
    # Handed on, not kept: autograd then adds other gradients to them in place.
    gradients, ctx.gradients = ctx.gradients, None
    if gradients is None:
        raise InputError("The engine hands its gradients over once; call it again instead.")
    found = (part if one or part is None else part.mul_(grad) for part in gradients)
    needed = zip(found, ctx.needs_input_grad, strict=False)
    return tuple(gradient if need else None for gradient, need in needed)


def check_inputs(queries: Tensor, entities: Tensor, scale: Tensor) -> None:
    """Refuse shapes that do not belong together."""
    m, d = _shape(queries, "queries", 2)
    num_entities, entity_dim = _shape(entities, "entities", 2)
    if entity_dim != d or _shape(scale, "scale", 1) != (m,) or not m or not num_entities:
        raise InputError(
            "The engine takes queries (m, d), entities (N, d) and scale (m,) with m, N >= 1, got "
            f"{tuple(queries.shape)}, {tuple(entities.shape)} and {tuple(scale.shape)}."
        )


def _shape(tensor: Tensor, name: str, dims: int) -> tuple[int, ...]:
    if tensor.dim() != dims:
        raise InputError(f"{name} has {dims} dimension(s), got {tuple(tensor.shape)}.")
    return tuple(tensor.shape)


def check_bounds(gammas: Tensor | None, activation: Activation, queries: Tensor) -> None:
    """Refuse bounds that are not one for each query, not positive, or of no use."""
    if gammas is None:
        return
    if not isinstance(activation, BY_GAMMA):
        names = ", ".join(kind.name for kind in BY_GAMMA)
        raise InputError(f"gammas are for {names}, and {activation.name} has no bound.")
    m = len(queries)
    if gammas.dtype != queries.dtype or gammas.device != queries.device:
        raise InputError(
            f"gammas are numbers like those of the queries ({queries.dtype} on {queries.device}), "
            f"got {gammas.dtype} on {gammas.device}."
        )
    if gammas.shape != (m,) or not bool(((gammas > 0) & gammas.isfinite()).all()):
        raise InputError(f"gammas holds a finite bound above zero for each of {m} queries.")


def check_pairs(
    without: Pairs,
    m: int,
    num_entities: int,
    estimate: Estimate = WHOLE,
    others: Tensor | None = None,
) -> None:
    """Refuse left-out pairs that no sum can do without: one must have a term, or a base."""
    rows, columns = without
    if rows.shape != columns.shape or rows.dim() != 1:
        raise InputError(
            "without holds two index tensors of one length, got "
            f"{tuple(rows.shape)} and {tuple(columns.shape)}."
        )
    if not len(rows):
        return
    if not all_within(rows, m):
        raise InputError(f"without names a query outside 0..{m - 1}.")
    if not all_within(columns, num_entities):
        raise InputError(f"without names an entity outside 0..{num_entities - 1}.")
    if estimate.bases is not None or others is not None:
        return
    if len(rows) >= num_entities and int(torch.bincount(rows, minlength=m).max()) >= num_entities:
        raise InputError("without leaves a query no entity at all.")


def all_within(ids: Tensor, count: int) -> bool:
    """Whether all ids are from 0 to count - 1."""
    if not len(ids):
        return True
    least, most = torch.aminmax(ids)
    return int(least) >= 0 and int(most) < count

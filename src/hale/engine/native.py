"""The native kernel: the same sweep as the tiles, and alignment, in C++ (CPU, float32)."""

from __future__ import annotations

import threading

import torch
from torch import Tensor

from hale.engine import library as kernel
from hale.engine.activations import Activation, Arctanh, Double, Halin, Hanon, Identity, XExp
from hale.engine.estimate import WHOLE, Estimate
from hale.engine.shapes import Sigmoid, Spline
from hale.engine.structures import Alignment, Uniformity
from hale.engine.tiles import Gradients, Pairs, Swept

# In the order of the C++ enum.
KINDS: tuple[type[Activation], ...] = (
    *(Hanon, Halin, XExp, Double, Arctanh, Identity),
    *(Sigmoid, Spline),
)

# Floats of g kept at once (256 MB): more queries than that allows are swept in blocks.
BLOCK_ELEMENTS = 1 << 26


class _Workspace(threading.local):
    """One buffer a thread, kept between sweeps: fresh memory costs a page fault a page."""

    tensor: Tensor | None = None

    def of(self, size: int, like: Tensor) -> Tensor:
        if self.tensor is None or len(self.tensor) < size:
            self.tensor = like.new_empty(size)
        return self.tensor


workspace = _Workspace()


def can_sweep(queries: Tensor, entities: Tensor, scale: Tensor, activation: Activation) -> bool:
    """Whether the kernel takes these inputs: float32 on the CPU, and an activation it knows."""
    return type(activation) in KINDS and all(
        x.is_cpu and x.dtype == torch.float32 for x in (queries, entities, scale)
    )


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
    phases: Tensor | None = None,
) -> Swept:
    """The value of the uniformity term and, on request, its gradients.

    ``phases`` (3,), in float64, is told how many seconds it took to sum up, to let the sums of
    threads meet, and to make the entities' gradients.
    """
    library = kernel.library(kernel.chosen_build())
    m, d = queries.shape
    n = len(entities)
    queries, entities, scale = (x.detach().contiguous() for x in (queries, entities, scale))
    logs = queries.new_empty(m, dtype=torch.float64)
    found = Gradients(
        torch.empty_like(queries), torch.empty_like(entities), torch.empty_like(scale)
    )
    bases, terms = (
        None if x is None else x.detach().double().contiguous() for x in (estimate.bases, others)
    )
    by_terms = None if terms is None else torch.empty_like(terms)
    bounds = bounds_of(activation, gammas, queries)
    shape = shape_of(activation)
    left_out, left_from = by_query(without, queries, n)
    block = m if not gradients else max(16, min(m, BLOCK_ELEMENTS // n // 16 * 16))
    for start in range(0, m, block):
        count = min(block, m - start)
        problem = Uniformity(
            m=count,
            n=n,
            d=d,
            queries=queries[start:].data_ptr(),
            entities=entities.data_ptr(),
            scale=scale[start:].data_ptr(),
            activation=KINDS.index(type(activation)),
            beta=getattr(activation, "beta", 0.0),
            shape=shape.data_ptr(),
            gammas=bounds[start:].data_ptr(),
            left_out=left_out.data_ptr(),
            left_from=left_from[start:].data_ptr(),
            ratio=estimate.ratio,
            bases=_from(bases, start),
            others=_from(terms, start),
            share=1 / m,
            add=start > 0,
            threads=torch.get_num_threads(),
            logs=logs[start:].data_ptr(),
            phases=_from(phases, 0),
        )
        if gradients:
            size = library.hale_workspace_size(count, n)
            problem.workspace = workspace.of(size, queries).data_ptr()
            problem.by_query = found.queries[start:].data_ptr()
            problem.by_entity = found.entities.data_ptr()
            problem.by_scale = found.scale[start:].data_ptr()
            problem.by_others = _from(by_terms, start)
        kernel.call("hale_uniformity", problem)
    if by_terms is not None:
        found = found._replace(others=by_terms.to(queries.dtype))
    return Swept(logs.mean().to(queries.dtype), found if gradients else None)


def _from(tensor: Tensor | None, start: int) -> int | None:
    return None if tensor is None else tensor[start:].data_ptr()


@torch.no_grad()
def align(
    queries: Tensor,
    tails: Tensor,
    scale: Tensor,
    activation: Activation,
    *,
    square: bool,
    weight: float,
    gammas: Tensor | None = None,
    count: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Activated distances (B,) of positives, and what their weighted mean pulls.

    a_i = h(c_i ||q_i - t_i||^2), of which the mean, of squares on request, is taken, over as many
    as there are here, or over ``count`` of which these are some. Its gradients by query (B, d), by
    tail (B, d) and by scale (B,) are returned.
    """
    queries, tails, scale = (x.detach().contiguous() for x in (queries, tails, scale))
    activated, by_scale = torch.empty_like(scale), torch.empty_like(scale)
    by_query, by_tail = torch.empty_like(queries), torch.empty_like(queries)
    bounds, shape = bounds_of(activation, gammas, queries), shape_of(activation)
    problem = Alignment(
        b=len(queries),
        d=queries.shape[1],
        queries=queries.data_ptr(),
        tails=tails.data_ptr(),
        scale=scale.data_ptr(),
        activation=KINDS.index(type(activation)),
        beta=getattr(activation, "beta", 0.0),
        shape=shape.data_ptr(),
        gammas=bounds.data_ptr(),
        square=square,
        share=weight / (count or len(queries)),
        threads=torch.get_num_threads(),
        activated=activated.data_ptr(),
        by_query=by_query.data_ptr(),
        by_tail=by_tail.data_ptr(),
        by_scale=by_scale.data_ptr(),
    )
    kernel.call("hale_alignment", problem)
    return activated, by_query, by_tail, by_scale


def shape_of(activation: Activation) -> Tensor:
    """The shape of an activation as the kernel takes it; nothing where it has none."""
    return torch.tensor(getattr(activation, "shape", ()), dtype=torch.float32)


def bounds_of(activation: Activation, gammas: Tensor | None, queries: Tensor) -> Tensor:
    """The bound of the activation for each query (m,); ones where it has none."""
    if gammas is not None:
        return gammas.detach().contiguous()
    return queries.new_full((len(queries),), getattr(activation, "gamma", 1.0))


def by_query(without: Pairs | None, queries: Tensor, n: int) -> Pairs:
    """Left-out pairs as the kernel takes them: entities by query, and where each begins (m + 1,).

    ``KnownAnswers`` hands them over in this order; others are sorted.
    """
    m = len(queries)
    if without is None:
        nothing = queries.new_zeros(m + 1, dtype=torch.long)
        return nothing[:0], nothing
    rows, columns = (ids.long() for ids in without)
    keys = rows * n + columns
    if not bool((keys[1:] > keys[:-1]).all()):
        order = keys.argsort()
        rows, columns = rows[order], columns[order]
    begins = torch.searchsorted(rows.contiguous(), torch.arange(m + 1, device=rows.device))
    return columns.contiguous(), begins

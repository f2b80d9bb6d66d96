"""The uniformity term, forward and backward: autograd, torch.compile, tiles, native."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from hale.engine import native, tiles
from hale.engine.activations import Hanon
from hale.engine.device import keep_freed_memory
from hale.lab.bench.machine import Peak
from hale.lab.bench.timing import in_turns

SIZES = (14_541, 40_943, 83_379)
DIMS = (32, 64, 128, 256)
RIVALS = ("autograd", "compile", "tiles", "native")


def kernel_rows(
    *,
    m: int = 100,
    sizes: Sequence[int] = SIZES,
    dims: Sequence[int] = DIMS,
    rounds: int = 15,
    rivals: Sequence[str] = RIVALS,
) -> list[dict[str, Any]]:
    """One row per rival and shape; the arithmetic counted is that of the three products."""
    keep_freed_memory()  # as in training
    rows = []
    for n in sizes:
        for d in dims:
            rows += _shape_rows(m, n, d, rounds, rivals)
    return rows


def _shape_rows(m: int, n: int, d: int, rounds: int, rivals: Sequence[str]) -> list[dict[str, Any]]:
    generator = torch.Generator().manual_seed(0)
    spread = 0.3 * (32 / d) ** 0.5  # the same distances whatever the dimension
    queries = spread * torch.randn(m, d, generator=generator)
    entities = spread * torch.randn(n, d, generator=generator)
    scale = torch.ones(m)
    h = Hanon()
    compiled = _plain
    if "compile" in rivals:
        # Anew for each shape: after a few of them torch.compile would give up and run eagerly.
        torch.compiler.reset()
        compiled = torch.compile(_plain, dynamic=False)
    calls: dict[str, Callable[[], object]] = {
        "autograd": lambda: _differentiate(_plain, queries, entities, scale),
        "compile": lambda: _differentiate(compiled, queries, entities, scale),
        "tiles": lambda: tiles.sweep(queries, entities, scale, h, None, gradients=True),
        "native": lambda: native.sweep(queries, entities, scale, h, None, gradients=True),
    }
    peak = Peak()
    times = in_turns({r: calls[r] for r in rivals}, rounds=rounds, between=peak.measure)
    flops = 6e-9 * m * n * d
    meeting = _meeting(calls, queries, entities, scale, h) if "native" in rivals else None
    return [
        {
            "rival": rival,
            "m": m,
            "n": n,
            "d": d,
            "median_ms": found.median_ms,
            "best_ms": found.best_ms,
            "gflops": flops / (found.best_ms / 1e3),
            "meeting": meeting if rival == "native" else None,
            "share_of_peak": flops / (found.best_ms / 1e3) / peak.gflops,
            "peak_gflops": peak.gflops,
        }
        for rival, found in times.items()
    ]


def _meeting(
    calls: dict[str, Callable[[], object]],
    queries: Tensor,
    entities: Tensor,
    scale: Tensor,
    h: Hanon,
) -> float:
    """The share of the native kernel's time in which sums meet so that threads change no bit."""
    phases = torch.zeros(3, dtype=torch.float64)
    calls["native"]()
    native.sweep(queries, entities, scale, h, None, gradients=True, phases=phases)
    return float(phases[1] / phases.sum())


def _plain(queries: Tensor, entities: Tensor, scale: Tensor) -> Tensor:
    """The definition on plain tensor expressions, as a user would write it."""
    squares = queries.square().sum(1, keepdim=True) + entities.square().sum(1)
    distances = (squares - 2 * queries @ entities.T).clamp_min(0)
    shifted = 3.0 * scale[:, None] * distances - (1.5 + 1.791759469228055)  # ln 6
    return torch.logsumexp(-6.0 * torch.sigmoid(shifted), dim=1).mean()


def _differentiate(function: Callable[..., Tensor], *inputs: Tensor) -> None:
    leaves = [x.detach().requires_grad_() for x in inputs]
    torch.autograd.grad(function(*leaves), leaves)

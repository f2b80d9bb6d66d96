"""The kernel's functions with each of their requests for memory refused in turn.

Run by test_want_of_memory in a process of its own, before which failing_new.cpp is loaded. Prints
a line of JSON for each function: requests, how many were refused, what was wrong.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

import hale
from hale.engine import library as kernel
from hale.engine import maps, native, rows, turns
from hale.engine.activations import Activation, Hanon, XExp
from hale.engine.blocks import Block, Blocks
from hale.engine.counting import Comparison, count_above, score_pairs
from hale.engine.group import ALONE
from hale.engine.leaving import Leaver
from tests.conftest import ring
from tests.engine.test_shard_sums import swept

MOST = 12  # requests of a function that are refused
Work = Callable[[], Any]
HOOK = ctypes.CDLL(None)
call = kernel.call


def watched(name: str, problem: ctypes.Structure) -> None:
    """Only what the kernel itself asks for is counted."""
    HOOK.failing_watch(1)
    try:
        call(name, problem)
    finally:
        HOOK.failing_watch(0)


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def backwards(function: Callable[..., Tensor], *inputs: Tensor) -> tuple[Tensor, ...]:
    leaves = [x.clone().requires_grad_() for x in inputs]
    found = function(*leaves)
    return found.detach(), *torch.autograd.grad(found.square().sum(), leaves)


def sweep(activation: Activation) -> tuple[Tensor, ...]:
    value, found = native.sweep(
        numbers(20, 9), numbers(700, 9, seed=1), torch.ones(20), activation, None, gradients=True
    )
    assert found is not None
    return value, found.queries, found.entities, found.scale


def left() -> tuple[Any, ...]:
    graph = ring(24)
    leaver = Leaver(graph.known("train").index, 4)
    ids = np.arange(6)
    return tuple(leaver.of(ids, ids % 2, None, Block(torch.arange(12), 24)))


def trained() -> tuple[Tensor, ...]:
    run = hale.train(ring(24), epochs=1, batch_size=16, dim=4, queries=4, seed=1)
    return tuple(run.model.state_dict().values())


def works() -> Iterator[tuple[str, Work]]:
    """Work that asks the kernel, by name."""
    which = torch.arange(300) % 7
    compared = Comparison(numbers(20, 9), numbers(700, 9, seed=1), True)
    yield "hale_uniformity, bounded", lambda: sweep(Hanon(3.0, 6.0))
    yield "hale_uniformity, without a bound", lambda: sweep(XExp())
    yield (
        "hale_turn_back",
        lambda: backwards(
            lambda v, t, s: turns.turn(v, which, t, s),
            numbers(300, 8),
            numbers(7, 8),
            numbers(7, 8),
        ),
    )
    yield (
        "hale_map_back",
        lambda: backwards(
            lambda v, m, s: maps.affine(v, which, m, s),
            numbers(300, 8),
            numbers(7, 8, 4),
            numbers(7, 8),
        ),
    )
    yield "hale_sum_rows", lambda: (rows.sum_rows([which], [numbers(300, 5)], 7).to_dense(),)
    yield "hale_draw_block", lambda: (Blocks(500, 60, seed=1).at(3).ids,)
    yield "hale_places", lambda: (Block(torch.arange(0, 500, 7), 500).places(np.arange(50)),)
    yield "hale_leave", left
    yield "hale_count_above", lambda: count_above(compared, torch.zeros(20))
    yield "hale_score_pairs", lambda: (score_pairs(compared, which[:20], which[:20]),)
    yield "hale_shard_sums and _push", lambda: shares("hanon")
    yield "hale_shard_floors", lambda: shares("xexp")
    yield "hale_step", trained


def shares(name: str) -> tuple[Tensor, ...]:
    found = swept(ALONE, name, torch.float32)
    parts = (found.logs, *found.by_rows, *found.by_tables, found.by_others)
    return tuple(part for part in parts if part is not None)


def same(one: Any, other: Any) -> bool:
    return all(
        np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(one, other, strict=True)
    )


def starve(work: Work) -> dict[str, Any]:
    """Refuse the first request, then the second, and so on; every few where there are many."""
    HOOK.failing_arm(0)
    expected, requests = work(), HOOK.failing_count()
    tried = range(1, requests + 1, 1 + requests // MOST)
    told = {"requests": requests, "tried": len(tried), "refused": 0, "wrong": ""}
    for number in tried:
        HOOK.failing_arm(number)
        try:
            work()
            told["wrong"] = f"request {number} was refused, and nobody said so"
        except MemoryError as error:
            told["refused"] += "native kernel" in str(error)
        HOOK.failing_arm(0)
        if not same(work(), expected):
            told["wrong"] = f"after request {number} was refused, other bits"
    return told


def main() -> None:
    """All of them, on two threads."""
    torch.set_num_threads(2)
    kernel.call = watched
    HOOK.failing_count.restype = ctypes.c_long
    with contextlib.redirect_stdout(sys.stderr):
        found = {name: starve(work) for name, work in works()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()

"""Rivals in turns, so that a noisy moment hits them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Times(NamedTuple):
    """Of repeated calls, in milliseconds."""

    median_ms: float
    best_ms: float


def in_turns(
    rivals: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    warm_up: int = 3,
    between: Callable[[], object] | None = None,
) -> dict[str, Times]:
    """Time each rival once a round, after some calls that do not count."""
    for _ in range(warm_up):
        for call in rivals.values():
            call()
    seen: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds):
        for name, call in rivals.items():
            began = time.perf_counter()
            call()
            seen[name].append(1e3 * (time.perf_counter() - began))
        if between:
            between()
    return {name: Times(statistics.median(times), min(times)) for name, times in seen.items()}

"""Curves: quality over training time, read between the validations."""

from __future__ import annotations

Curve = list[dict[str, float]]


def reached(curve: Curve, metric: str, target: float) -> float | None:
    """The training time at which the line through the validations first meets the target."""
    before = {"seconds": 0.0, metric: 0.0}
    for point in curve:
        if point[metric] >= target:
            share = (target - before[metric]) / (point[metric] - before[metric])
            return before["seconds"] + share * (point["seconds"] - before["seconds"])
        before = point
    return None


def quality_at(curve: Curve, metric: str, seconds: float) -> float | None:
    """The line through the validations at a time; the last one where it ends a little before."""
    before = {"seconds": 0.0, metric: 0.0}
    for point in curve:
        if point["seconds"] >= seconds:
            share = (seconds - before["seconds"]) / (point["seconds"] - before["seconds"])
            return before[metric] + share * (point[metric] - before[metric])
        before = point
    return before[metric] if before["seconds"] >= 0.9 * seconds else None

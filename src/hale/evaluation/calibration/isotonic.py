"""Isotonic regression: a curve that only has to rise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hale.evaluation.calibration.targets import Labels, smoothed

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Isotonic:
    """A line through points that rise, level beyond the first and the last."""

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def probability(self, scores: Floats) -> Floats:
        """(n,) -> (n,)."""
        return np.interp(scores, self.scores, self.probabilities)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"scores": list(self.scores), "probabilities": list(self.probabilities)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Isotonic:
        """Back from ``as_dict``."""
        scores, probabilities = values["scores"], values["probabilities"]
        if len(scores) != len(probabilities) or not scores:
            raise ValueError("a curve has as many scores as probabilities, and at least one")
        return cls(tuple(map(float, scores)), tuple(map(float, probabilities)))

    @classmethod
    def fit(cls, scores: Floats, labels: Labels) -> Isotonic:
        """The rising step function nearest to the smoothed labels: (n,), (n,).

        Each level of it gives two points, its lowest and its highest score.
        """
        places, owner = np.unique(scores, return_inverse=True)
        counts = np.bincount(owner).astype(np.float64)
        means = np.bincount(owner, weights=smoothed(labels)) / counts
        values, sizes = rising(means, counts)
        ends = np.cumsum(sizes) - 1
        starts = ends - sizes + 1
        points = {
            float(places[i]): float(value)
            for start, end, value in zip(starts, ends, values, strict=True)
            for i in (start, end)
        }
        return cls(tuple(points), tuple(points.values()))


def rising(means: Floats, counts: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Pool adjacent violators -> the levels, and how many places each covers.

    Minimises sum_i counts_i (means_i - level_i)^2 over levels that do not fall:
    a block that stands above its right neighbour is merged with it, until none does.
    """
    blocks: list[tuple[float, float, int]] = []  # mean, count, places
    for mean, count in zip(means.tolist(), counts.tolist(), strict=True):
        block = (mean, count, 1)
        while blocks and blocks[-1][0] >= block[0]:
            before = blocks.pop()
            total = before[1] + block[1]
            pooled = (before[0] * before[1] + block[0] * block[1]) / total
            block = (pooled, total, before[2] + block[2])
        blocks.append(block)
    levels, _, sizes = zip(*blocks, strict=True)
    return np.array(levels), np.array(sizes, dtype=np.int64)

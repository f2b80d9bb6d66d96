"""Platt scaling: a curve of two parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hale.evaluation.calibration.logistic import fit_logistic, sigmoid
from hale.evaluation.calibration.targets import Labels, smoothed

Floats = NDArray[np.float64]

OUTSIDE = 0.01  # share of the scores below the range, and above it


@dataclass(frozen=True)
class Platt:
    """p(true | score) = 1 / (1 + exp(-(slope * score + intercept))), level beyond its range.

    The range holds 98 of 100 fitted scores. Without it a few true triples with
    scores far below all others hold the whole curve flat.
    """

    slope: float
    intercept: float
    low: float = -np.inf
    high: float = np.inf

    def probability(self, scores: Floats) -> Floats:
        """(n,) -> (n,)."""
        return sigmoid(self.slope * np.clip(scores, self.low, self.high) + self.intercept)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "slope": self.slope,
            "intercept": self.intercept,
            "low": self.low,
            "high": self.high,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Platt:
        """Back from ``as_dict``."""
        return cls(*(float(values[key]) for key in ("slope", "intercept", "low", "high")))

    @classmethod
    def fit(cls, scores: Floats, labels: Labels) -> Platt:
        """The most likely curve for smoothed labels: (n,), (n,), in float64.

        Minimises the mean of -y log p - (1 - y) log(1 - p), the scores moved into
        the range, by Newton's method with halved steps. The problem is convex; where
        its solution would fall with the score, the best curve that does not is the
        flat one, at the mean target.
        """
        targets = smoothed(labels)
        low, high = (float(cut) for cut in np.quantile(scores, (OUTSIDE, 1 - OUTSIDE)))
        kept = np.clip(scores, low, high)
        centre, spread = kept.mean(), kept.std()
        share = targets.mean()
        flat = cls(0.0, float(np.log(share / (1 - share))), low, high)
        if spread == 0:
            return flat
        inputs = np.stack([(kept - centre) / spread, np.ones_like(kept)], axis=1)
        found = fit_logistic(inputs, targets, start=np.array([0.0, flat.intercept]))
        slope = float(found[0] / spread)
        return cls(slope, float(found[1] - slope * centre), low, high) if slope > 0 else flat

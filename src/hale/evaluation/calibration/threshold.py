"""The cut that is right most often."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def best_threshold(scores: Floats, labels: NDArray[np.bool_]) -> float:
    """The cut that maximises accuracy, 'true' being score >= cut: (n,), (n,) -> scalar.

    A cut lies halfway between two scores that follow each other, at the lowest
    score (all true), or just above the highest (none true). Of equally good ones
    the lowest is taken, as CoDEx does.
    """
    order = np.argsort(scores)
    ranked = scores[order]
    # right[i]: the triples put right when the i lowest are called false
    gain = np.where(labels[order], -1, 1)
    right = np.concatenate([[labels.sum()], labels.sum() + np.cumsum(gain)])
    parted = np.concatenate([[True], ranked[1:] > ranked[:-1], [True]])  # no cut inside a tie
    best = int(np.where(parted, right, -1).argmax())
    if best == 0:
        return float(ranked[0])
    if best == len(ranked):
        return float(np.nextafter(ranked[-1], np.inf))
    return float((ranked[best - 1] + ranked[best]) / 2)

"""Logistic regression by Newton's method, in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_STEPS = 100
CLOSE = 1e-10  # of the gradient, a mean over the rows


def fit_logistic(
    inputs: Floats,
    targets: Floats,
    *,
    start: Floats,
    ridge: float = 0.0,
    offset: Floats | float = 0.0,
) -> Floats:
    """The most likely weights: (n, F), (n,), (F,) -> (F,).

    Minimises the mean over the rows of -y log p - (1 - y) log(1 - p), with
    p = sigmoid(x . w + offset), and ridge / 2n * |w|^2 beside it: the prior of a weight is then
    normal with variance 1 / ridge. Convex; steps are halved until the loss falls.
    """
    weights, count = start, len(targets)

    def loss(tried: Floats) -> float:
        """log(1 + exp(z)) - y z is the cross-entropy."""
        logits = inputs @ tried + offset
        fit = (np.logaddexp(0, logits) - targets * logits).mean()
        return float(fit + ridge / (2 * count) * (tried @ tried))

    lowest = loss(weights)
    for _ in range(MOST_STEPS):
        p = sigmoid(inputs @ weights + offset)
        gradient = (inputs.T @ (p - targets) + ridge * weights) / count
        if np.abs(gradient).max() < CLOSE:
            break
        curvature = ((inputs * (p * (1 - p))[:, None]).T @ inputs) / count
        curvature += (ridge / count + 1e-12) * np.eye(len(weights))
        step, length = np.linalg.solve(curvature, gradient), 1.0
        while (tried := loss(weights - length * step)) > lowest:
            length /= 2
            if length < 1e-10:  # nothing lower along the step: as good as rounding allows
                return weights
        weights, lowest = weights - length * step, tried
    return weights


def sigmoid(logits: Floats) -> Floats:
    """By the half angle of tanh: no overflow at either end."""
    return 0.5 * (1 + np.tanh(0.5 * logits))

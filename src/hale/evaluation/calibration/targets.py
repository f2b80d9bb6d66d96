"""What a curve is fitted to: labels, kept off 0 and 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]


def smoothed(labels: Labels) -> Floats:
    """Labels as targets: (n,) -> (n,), with n+ of them true and n- false.

    true -> (n+ + 1) / (n+ + 2),  false -> 1 / (n- + 2)      (Platt 1999, section 2.2)

    So few triples never say 'certain': with 8 true ones the highest is 0.9.
    """
    positives = int(labels.sum())
    negatives = len(labels) - positives
    return np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))

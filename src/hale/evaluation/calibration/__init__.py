"""Calibration: from scores to probabilities, and to true or false.

scores      the score of a triple that is calibrated
negatives   corruptions of held-out triples that the graph does not know
targets     what a curve is fitted to: smoothed labels
platt       a curve of two parameters
isotonic    a curve that only has to rise
threshold   the cut that is right most often
fits        a curve and a cut for every relation that has the triples for it
runs        a run's fits, kept with the run
"""

from hale.evaluation.calibration.calibrator import (
    Calibration,
    calibrate,
    calibration_of,
    kept_calibration,
    load_calibration,
)
from hale.evaluation.calibration.isotonic import Isotonic
from hale.evaluation.calibration.negatives import corrupt
from hale.evaluation.calibration.platt import Platt
from hale.evaluation.calibration.scores import triple_scores

__all__ = [
    "Calibration",
    "Isotonic",
    "Platt",
    "calibrate",
    "calibration_of",
    "corrupt",
    "kept_calibration",
    "load_calibration",
    "triple_scores",
]

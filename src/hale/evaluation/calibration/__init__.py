"""Calibration: from scores to probabilities, and to true or false.

base          a calibration, and what can be asked of it
by_questions  learned from the answers to questions, as predictions ask them
questions     which questions those are, and which of their answers are true
listing       the best candidates of questions, from scores that are made once
standing      where an answer stands among the candidates of its question
cardinality   how many answers the queries of a relation have
asked_fit     the probability of an answer, by how it stands
pooled        one logistic model for all relations, and the departure of each
logistic      logistic regression by Newton's method
by_negatives  learned from validation triples against negatives that were given
scores        the score of a triple that is calibrated there
targets       what a curve is fitted to: smoothed labels
platt         a curve of two parameters
isotonic      a curve that only has to rise
threshold     the cut that is right most often
fits          a curve and a cut for every relation that has the triples for it
negatives     corruptions of held-out triples that the graph does not know
calibrator    a run's calibration, kept with the run
"""

from hale.evaluation.calibration.base import Calibration, Judge
from hale.evaluation.calibration.by_negatives import ByNegatives
from hale.evaluation.calibration.by_questions import ByQuestions
from hale.evaluation.calibration.calibrator import (
    calibrate,
    calibration_of,
    judge_of,
    kept_calibration,
    load_calibration,
    meaning_of,
)
from hale.evaluation.calibration.isotonic import Isotonic
from hale.evaluation.calibration.negatives import corrupt
from hale.evaluation.calibration.platt import Platt
from hale.evaluation.calibration.scores import triple_scores

__all__ = [
    "ByNegatives",
    "ByQuestions",
    "Calibration",
    "Isotonic",
    "Judge",
    "Platt",
    "calibrate",
    "calibration_of",
    "corrupt",
    "judge_of",
    "kept_calibration",
    "load_calibration",
    "meaning_of",
    "triple_scores",
]

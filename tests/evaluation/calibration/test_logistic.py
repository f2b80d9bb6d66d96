from __future__ import annotations

import numpy as np
import pytest

from hale.evaluation.calibration.logistic import fit_logistic, sigmoid


def test_one_weight_by_hand() -> None:
    """Three of four rows are true: p = 3/4, so the weight of a column of ones is ln 3."""
    ones, targets = np.ones((4, 1)), np.array([1.0, 1, 1, 0])
    assert fit_logistic(ones, targets, start=np.zeros(1))[0] == pytest.approx(np.log(3))
    # with an offset of ln 2 the rest is ln 3 - ln 2
    found = fit_logistic(ones, targets, start=np.zeros(1), offset=np.full(4, np.log(2)))
    assert found[0] == pytest.approx(np.log(3) - np.log(2))


def test_a_ridge_holds_the_weight_back() -> None:
    """At the optimum sum(p - y) + ridge * w = 0; with ridge 2 and four true of four."""
    found = float(fit_logistic(np.ones((4, 1)), np.ones(4), start=np.zeros(1), ridge=2.0)[0])
    assert 4 * (1 / (1 + np.exp(-found)) - 1) + 2 * found == pytest.approx(0, abs=1e-8)
    assert 0 < found < 2


def test_two_weights_by_groups() -> None:
    """A row of its own for each of two groups: the log odds of each."""
    inputs = np.array([[1.0, 0]] * 5 + [[0, 1.0]] * 4)
    targets = np.array([1.0, 0, 0, 0, 0, 1, 1, 0, 0])
    found = fit_logistic(inputs, targets, start=np.zeros(2))
    np.testing.assert_allclose(found, [np.log(1 / 4), 0], atol=1e-8)


def test_no_overflow_at_either_end() -> None:
    np.testing.assert_array_equal(sigmoid(np.array([-1e9, 0, 1e9])), [0, 0.5, 1])

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hale.evaluation.calibration.platt import Platt
from hale.evaluation.calibration.targets import smoothed

Floats = NDArray[np.float64]


def by_descent(scores: Floats, targets: Floats) -> tuple[float, float]:
    """Plain gradient descent on the cross-entropy, in steps that cannot overshoot."""
    slope = intercept = 0.0
    bound = 0.25 * (1 + np.square(scores).mean())  # of the curvature
    for _ in range(20_000):
        miss = 1 / (1 + np.exp(-(slope * scores + intercept))) - targets
        slope -= (miss * scores).mean() / bound
        intercept -= miss.mean() / bound
    return slope, intercept


def test_targets_by_hand() -> None:
    found = smoothed(np.array([True, True, True, False]))
    assert found.tolist() == [4 / 5, 4 / 5, 4 / 5, 1 / 3]


def test_equals_gradient_descent() -> None:
    draws = np.random.default_rng(0)
    labels = np.arange(300) < 120
    scores = draws.normal(size=300) + 1.5 * labels
    found = Platt.fit(scores, labels)
    kept = np.clip(scores, found.low, found.high)
    slope, intercept = by_descent(kept, smoothed(labels))
    assert found.slope == pytest.approx(slope, rel=1e-5)
    assert found.intercept == pytest.approx(intercept, rel=1e-5)


def test_two_scores_have_a_closed_form() -> None:
    """With two distinct scores the curve meets the mean target of each."""
    scores = np.array([0.0] * 10 + [2.0] * 10)
    labels = np.array([True] * 3 + [False] * 7 + [True] * 8 + [False] * 2)
    high, low = 12 / 13, 1 / 11  # 11 true, 9 false
    found = Platt.fit(scores, labels).probability(np.array([0.0, 2.0]))
    expected = [(3 * high + 7 * low) / 10, (8 * high + 2 * low) / 10]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_separable_scores_stay_finite() -> None:
    scores = np.array([-100.0] * 20 + [100.0] * 20)
    found = Platt.fit(scores, scores > 0).probability(np.array([-1e300, -100.0, 100.0, 1e300]))
    np.testing.assert_allclose(found, [1 / 22, 1 / 22, 21 / 22, 21 / 22])


def test_a_score_that_misleads_gives_a_level_curve() -> None:
    scores = np.array([3.0, 2.0, 1.0, 0.0] * 5)
    labels = np.array([False, False, True, True] * 5)
    found = Platt.fit(scores, labels)
    assert found.slope == 0
    np.testing.assert_allclose(found.probability(scores), 0.5)
    one_kind = Platt.fit(np.ones(8), np.ones(8, dtype=bool))
    np.testing.assert_allclose(one_kind.probability(np.array([1.0, 7.0])), 0.9)
    assert (one_kind.low, one_kind.high) == (1.0, 1.0)


def test_an_outlier_does_not_hold_the_curve_flat() -> None:
    draws = np.random.default_rng(1)
    labels = np.arange(1000) < 500
    scores = draws.normal(size=1000) + 4 * labels
    plain = Platt.fit(scores, labels)
    scores[:2] = -1e4  # two true triples, far below all others
    found = Platt.fit(scores, labels)
    assert found.slope > 0.5 * plain.slope
    assert found.low > -10


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.booleans()), min_size=2, max_size=40))
def test_probabilities_rise_and_stay_inside(pairs: list[tuple[float, bool]]) -> None:
    scores = np.array([score for score, _ in pairs])
    labels = np.array([label for _, label in pairs])
    found = Platt.fit(scores, labels).probability(np.sort(scores))
    assert ((found > 0) & (found < 1)).all()
    assert (np.diff(found) >= 0).all()


def test_there_and_back() -> None:
    curve = Platt(1.5, -0.25, -3.0, 4.0)
    assert Platt.from_dict(curve.as_dict()) == curve


def test_a_curve_without_a_range_goes_on() -> None:
    found = Platt(2.0, 1.0).probability(np.array([-3.0, 0.0, 3.0]))
    np.testing.assert_allclose(found, 1 / (1 + np.exp([5.0, -1.0, -7.0])))


@pytest.mark.parametrize(("true", "false"), [(2, 50), (5, 50), (5, 200)])
def test_a_step_that_goes_too_far_is_halved(true: int, false: int) -> None:
    """Few true triples, far from all others: Newton's first step lands where the loss is higher."""
    labels = np.arange(true + false) < true
    scores = np.where(labels, 10.0, 0.0)
    curve = Platt.fit(scores, labels)
    curve = Platt(curve.slope, curve.intercept)
    wanted = [1 / (false + 2), (true + 1) / (true + 2)]
    np.testing.assert_allclose(curve.probability(np.array([0.0, 10.0])), wanted, rtol=1e-6)

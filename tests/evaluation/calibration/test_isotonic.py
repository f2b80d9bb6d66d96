from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hale.evaluation.calibration.isotonic import Isotonic, rising


def slow_rising(means: list[float], counts: list[float]) -> list[float]:
    """The max-min formula: level_i = max over a <= i of min over b >= i of mean(a..b)."""

    def mean(a: int, b: int) -> float:
        weights = counts[a : b + 1]
        total = sum(m * c for m, c in zip(means[a : b + 1], weights, strict=True))
        return total / sum(weights)

    n = len(means)
    return [max(min(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


@given(
    st.lists(
        st.tuples(st.integers(0, 4).map(lambda x: x / 4), st.integers(1, 3)),
        min_size=1,
        max_size=12,
    )
)
def test_equals_the_max_min_formula(pairs: list[tuple[float, int]]) -> None:
    means, counts = [m for m, _ in pairs], [float(c) for _, c in pairs]
    levels, sizes = rising(np.array(means), np.array(counts))
    assert sizes.sum() == len(means)
    assert (np.diff(levels) > 0).all(), "levels alike are one"
    np.testing.assert_allclose(np.repeat(levels, sizes), slow_rising(means, counts))


def test_curve_by_hand() -> None:
    """False, true, false, true at 1, 2, 3, 4: the middle pair is pooled."""
    found = Isotonic.fit(np.array([4.0, 2.0, 3.0, 1.0]), np.array([True, True, False, False]))
    # two of each kind: true counts as 3/4, false as 1/4
    assert found.scores == (1.0, 2.0, 3.0, 4.0)
    assert found.probabilities == pytest.approx((0.25, 0.5, 0.5, 0.75))
    np.testing.assert_allclose(
        found.probability(np.array([-9.0, 1.5, 2.7, 3.5, 9.0])), [0.25, 0.375, 0.5, 0.625, 0.75]
    )


def test_equal_scores_have_one_probability() -> None:
    found = Isotonic.fit(np.zeros(4), np.array([True, False, False, False]))
    assert found.scores == (0.0,)
    # one true of four: its target is 2/3, that of the others 1/5
    assert found.probabilities == pytest.approx(((2 / 3 + 3 / 5) / 4,))


def test_there_and_back() -> None:
    curve = Isotonic((0.0, 1.0), (0.2, 0.7))
    assert Isotonic.from_dict(curve.as_dict()) == curve
    with pytest.raises(ValueError, match="as many scores"):
        Isotonic.from_dict({"scores": [1.0], "probabilities": []})

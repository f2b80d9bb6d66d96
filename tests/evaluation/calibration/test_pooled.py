from __future__ import annotations

import numpy as np
import pytest

from hale.evaluation.calibration.logistic import sigmoid
from hale.evaluation.calibration.pooled import OWN_SPREAD, Pooled


def rows(counts: dict[int, tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with a constant alone: by group so many of which so many are true."""
    groups = np.concatenate([np.full(count, group) for group, (count, _) in counts.items()])
    labels = np.concatenate([np.arange(count) < true for count, true in counts.values()])
    return np.ones((len(groups), 1)), labels, groups


def test_groups_stay_near_all_by_how_few_they_are() -> None:
    features, labels, groups = rows({0: (4000, 2000), 1: (400, 300), 2: (4, 3)})
    found = Pooled.fit(features, labels, groups)
    asked = np.ones((4, 1))
    p = sigmoid(found.logits(asked, np.array([0, 1, 2, 9])))
    everyone = labels.mean()
    assert p[3] == pytest.approx(everyone, abs=1e-4), "a group without rows is as all together"
    assert p[0] == pytest.approx(0.5, abs=0.002)
    assert p[1] == pytest.approx(0.75, abs=0.01)
    assert everyone < p[2] < 0.6, "four rows do not tell much"
    # the departure of group 2 solves sum(p - y) + u / spread^2 = 0
    (departure,), (weight,) = found.own[2], found.weights
    slope = 4 / (1 + np.exp(-weight - departure)) - 3
    assert slope + departure / OWN_SPREAD**2 == pytest.approx(0, abs=1e-6)


def test_probabilities_that_are_known() -> None:
    """Labels drawn with known probabilities: on new rows shares and means agree, band by band."""
    draws = np.random.default_rng(0)
    groups = draws.integers(6, size=40_000)
    features = np.stack([np.ones(40_000), draws.normal(size=40_000)], axis=1)
    shift, slope = np.linspace(-2, 1, 6)[groups], np.linspace(0.5, 2, 6)[groups]
    labels = draws.random(40_000) < sigmoid(shift + slope * features[:, 1])
    half = np.arange(40_000) < 20_000
    found = Pooled.fit(features[half], labels[half], groups[half])
    p, truth = sigmoid(found.logits(features[~half], groups[~half])), labels[~half]
    for low in np.arange(0, 1, 0.1):
        mine = (p >= low) & (p < low + 0.1)
        error = np.sqrt((p[mine] * (1 - p[mine])).sum()) / mine.sum()
        assert abs(p[mine].mean() - truth[mine].mean()) < 4 * error


def test_beyond_what_was_fitted_it_stays_level() -> None:
    features = np.stack([np.ones(8), np.arange(8.0)], axis=1)
    found = Pooled.fit(features, np.arange(8) > 3, np.zeros(8, dtype=np.int64))
    asked = np.array([[1.0, 7], [1, 70], [1, 0], [1, -70]])
    p = found.logits(asked, np.zeros(4, dtype=np.int64))
    assert p[0] == p[1] > p[2] == p[3]


def test_there_and_back() -> None:
    features, labels, groups = rows({3: (40, 20), 5: (4, 1)})
    found = Pooled.fit(features, labels, groups)
    own = {group: list(weights) for group, weights in found.own.items()}
    assert Pooled.from_dict(found.as_dict(), own) == found
    with pytest.raises(ValueError, match="as many features"):
        Pooled.from_dict(found.as_dict(), {3: [1.0, 2.0]})

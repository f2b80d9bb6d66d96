from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hale.evaluation.calibration.threshold import best_threshold


@pytest.mark.parametrize(
    ("scores", "labels", "expected"),
    [
        ([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1], 2.5),
        ([4.0, 1.0, 3.0, 2.0], [1, 0, 1, 0], 2.5),
        ([1.0, 2.0, 3.0], [1, 1, 1], 1.0),  # all true
        ([1.0, 2.0, 3.0], [0, 0, 0], np.nextafter(3.0, 4.0)),  # none true
        ([1.0, 1.0, 1.0], [0, 1, 1], 1.0),  # a tie is not cut
        ([1.0, 2.0], [1, 0], 1.0),  # all and none are equally good: the lower cut
    ],
)
def test_by_hand(scores: list[float], labels: list[int], expected: float) -> None:
    assert best_threshold(np.array(scores), np.array(labels, dtype=bool)) == expected


@given(st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=1, max_size=30))
def test_no_cut_is_better(pairs: list[tuple[int, bool]]) -> None:
    scores = np.array([float(score) for score, _ in pairs])
    labels = np.array([label for _, label in pairs])
    found = best_threshold(scores, labels)
    right = ((scores >= found) == labels).sum()
    assert right == max(((scores >= cut) == labels).sum() for cut in np.arange(-5, 6))

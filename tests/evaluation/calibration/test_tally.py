from __future__ import annotations

import numpy as np
import torch

from hale.evaluation.calibration.tally import Tally


def test_scores_that_pass_limits_are_counted_question_by_question() -> None:
    draw = np.random.default_rng(0)
    rows = np.array([2, 0, 0, 2, 2, 3])  # nobody asks question 1
    limits = np.array([0.5, 0.25, 0.75, 0.5, -1.0, np.inf], dtype=np.float32)
    tally = Tally(rows, limits)
    scores = draw.random((4, 30)).astype(np.float32)
    scores[2, :3] = 0.5  # no score is above itself
    scores[0, 5] = -np.inf
    for part in (slice(0, 10), slice(10, 30)):
        for some in (np.array([3, 0]), np.array([2])):
            tally.add(some, torch.from_numpy(scores[some, part]))
    expected = [int((scores[row] > limit).sum()) for row, limit in zip(rows, limits, strict=True)]
    assert tally.counts().tolist() == expected
    assert expected[5] == 0 < expected[0] < 30

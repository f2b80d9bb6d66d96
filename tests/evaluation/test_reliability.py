from __future__ import annotations

import numpy as np
import pytest

from hale.errors import InputError
from hale.evaluation.reliability import Bin, Quality


def test_by_hand() -> None:
    labels = np.array([True, True, True, False, False, False, False, True])
    verdicts = np.array([True, True, False, True, False, False, False, False])
    said = np.array([0.95, 1.0, 0.32, 0.38, 0.0, 0.05, 0.02, 0.31])
    found = Quality.of(labels, verdicts, said)
    assert (found.count, found.positives) == (8, 4)
    assert found.accuracy == 5 / 8
    assert found.precision == 2 / 3
    assert found.recall == 2 / 4
    assert found.f1 == pytest.approx(2 * 2 / (2 * 2 + 1 + 2))
    # three bins: below .1 (3 triples, none true), .3 to .4 (3, two true), .9 and up (2, both)
    assert [part.count for part in found.bins] == [3, 3, 2]
    assert [part.share for part in found.bins] == pytest.approx([0, 2 / 3, 1])
    error = (3 * (0.07 / 3) + 3 * abs(2 / 3 - 1.01 / 3) + 2 * (1 - 0.975)) / 8
    assert found.calibration_error == pytest.approx(error)


def test_ends_of_the_range() -> None:
    labels = np.array([False, True])
    found = Quality.of(labels, ~labels, np.array([0.0, 1.0]))
    assert found.bins == (Bin(1, 0.0, 0.0), Bin(1, 1.0, 1.0))
    assert (found.accuracy, found.f1, found.calibration_error) == (0, 0, 0)
    nothing = Quality.of(np.array([False]), np.array([False]), np.array([0.2]))
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.accuracy) == (0, 0, 0, 1)
    with pytest.raises(InputError, match="no labelled triples"):
        Quality.of(labels[:0], labels[:0], np.empty(0))


def test_as_dict() -> None:
    found = Quality.of(np.array([True]), np.array([True]), np.array([0.75])).as_dict()
    assert found["bins"] == [{"count": 1, "probability": 0.75, "share": 1.0}]
    assert found["calibration_error"] == 0.25


def test_as_many_called_true_as_are() -> None:
    right = np.array([True, False, True])
    assert Quality.of(right, right, np.array([0.9, 0.1, 0.8])).f1 == 1.0
    one_off = np.array([True, True, False])  # two called, two true, one of them both
    assert Quality.of(right, one_off, np.array([0.9, 0.1, 0.8])).f1 == pytest.approx(2 / 4)


def test_the_last_two_tenths_are_apart() -> None:
    labels = np.array([False, True, True])
    found = Quality.of(labels, labels, np.array([0.85, 0.95, 1.0]))
    assert [(part.count, part.share) for part in found.bins] == [(1, 0.0), (2, 1.0)]

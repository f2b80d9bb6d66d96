"""Which relations have a fit of their own, and how it is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from hale.evaluation.calibration.fits import Fit, Fits


def test_ten_triples_make_a_fit_and_nine_do_not() -> None:
    """Relation 0 has ten triples, parted at 5; relation 1 has nine, parted at 15."""
    relations = np.array([0] * 10 + [1] * 9)
    scores = np.concatenate([np.arange(10.0), np.arange(10.0, 19.0)])
    labels = np.concatenate([np.arange(10) >= 5, np.arange(9) >= 5])
    found = Fits.of("isotonic", scores, relations, labels)
    assert set(found.by_relation) == {0}
    assert found.fit(0) == Fit.of("isotonic", scores[:10], labels[:10])
    assert (found.fit(0).positives, found.fit(0).negatives) == (5, 5)
    assert found.fit(0).threshold == 4.5
    assert found.fit(1) is found.overall
    assert (found.overall.positives, found.overall.negatives) == (9, 10)
    cuts = found.thresholds(np.array([1, 0, 1]))
    assert cuts.tolist() == [found.overall.threshold, 4.5, found.overall.threshold]


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_there_and_back(method: str) -> None:
    fit = Fit.of(method, np.array([1.0, 2.0, 3.0]), np.array([False, True, True]))
    values = fit.as_dict()
    assert (values["positives"], values["negatives"], values["threshold"]) == (2, 1, 1.5)
    assert Fit.from_dict(method, values) == fit

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch

from hale.errors import InputError
from hale.evaluation.calibration import ByNegatives, calibrate
from hale.evaluation.calibration.fits import Fits
from hale.evaluation.classification import Verdict, classify
from tests.line_run import line_run

NEGATIVES = np.array([[0, 0, 3]] * 12)


def test_verdicts_by_hand() -> None:
    run = line_run()
    # facts score 0, negatives -4: the cut of 'next' is at -2; 'twice' is judged by all together
    calibration = calibrate(run, negatives=np.array([[0, 0, 3]] * 12))
    found = classify(
        run,
        [("p0", "next", "p1"), ("p0", "next", "p2"), ("p0", "next", "p3"), ("p0", "twice", "p3")],
        calibration=calibration,
    )
    assert found.scores.tolist() == [0, -1, -4, -1]
    assert found.true.tolist() == [True, True, False, True]
    assert found.thresholds.tolist() == [-2] * 4
    assert isinstance(calibration, ByNegatives)
    assert found.thresholds is not None
    own, overall = calibration.fits.by_relation[0].curve, calibration.fits.overall.curve
    np.testing.assert_allclose(
        found.probabilities,
        [*own.probability(found.scores[:3]), *overall.probability(found.scores[3:])],
    )
    assert len(found) == 4
    assert found[2] == Verdict("p0", "next", "p3", False, found.probabilities[2], -4.0, -2.0, None)
    assert [verdict.tail for verdict in found] == ["p1", "p2", "p3", "p3"]
    assert found[:2] == [found[0], found[1]]
    assert found.as_dicts()[0]["verdict"] is True


def test_quality_against_labels() -> None:
    run = line_run()
    found = classify(
        run,
        np.array([[0, 0, 1], [0, 0, 2], [0, 0, 3]]),
        calibration=calibrate(run, negatives=np.array([[0, 0, 3]] * 12)),
    )
    quality = found.quality([True, False, False])
    assert quality.accuracy == 2 / 3
    assert quality.f1 == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="Expected 3 labels"):
        found.quality([True])


def test_frame_has_the_labels_of_entities() -> None:
    run = line_run()
    asked = [("one", "next", "p2"), ("p0", "next", "p1")]
    frame = classify(run, asked, calibration=calibrate(run, negatives=NEGATIVES)).to_polars()
    assert frame["head"].to_list() == ["p1", "p0"]
    assert frame["head_label"].to_list() == ["one", None]
    assert frame["tail_label"].to_list() == ["two words", "one"]
    assert frame["verdict"].to_list() == [True, True]
    assert frame.columns[-4:] == ["probability", "score", "known", "threshold"]
    assert frame["known"].to_list() == ["valid", "valid"]
    assert "threshold" not in classify(run, asked).to_polars().columns, "p decides"


def test_nothing_to_judge() -> None:
    found = classify(line_run(), [])
    assert len(found) == 0
    assert found.to_polars().height == 0


def test_each_relation_has_its_own_cut() -> None:
    """Facts score 0. Negatives of 'next' score -4, those of 'twice' -1, too few for a cut."""
    run = line_run()
    false = np.array([[0, 0, 3]] * 12 + [[0, 1, 3]] * 2)
    found = classify(
        run,
        [("p0", "next", "p1"), ("p5", "twice", "p0")],
        calibration=calibrate(run, negatives=false),
    )
    assert found.thresholds is not None
    assert found.thresholds.tolist() == [-2.0, -0.5]
    assert [verdict.threshold for verdict in found] == [-2.0, -0.5]


def test_a_score_at_the_cut_is_true() -> None:
    """The cut lies halfway between facts at 0 and negatives at -4; p1 to p2 misses by sqrt 2."""
    run = line_run()
    calibration = calibrate(run, negatives=NEGATIVES)
    with torch.no_grad():
        run.model.entity.weight[2, 1] = 2**0.5
    found = classify(run, [("p1", "next", "p2")], calibration=calibration)
    assert found.scores[0] == pytest.approx(-2.0)
    cut = found.scores[0]
    for moved, true in ((cut, True), (np.nextafter(cut, 0.0), False)):
        assert isinstance(calibration, ByNegatives)
        own = replace(calibration.fits.by_relation[0], threshold=float(moved))
        fits = Fits(calibration.fits.overall, {0: own})
        found = classify(run, [("p1", "next", "p2")], calibration=replace(calibration, fits=fits))
        assert found.true.tolist() == [true]
        assert found[0].verdict is true


def test_what_train_holds_is_true() -> None:
    """p15 follows p14 in train, p3 follows p2 in valid: with p of one half and more."""
    run = line_run()
    found = classify(run, [("p14", "next", "p15"), ("p2", "next", "p3"), ("p2", "next", "p19")])
    assert [verdict.known for verdict in found] == ["train", "valid", None]
    assert found.true[0]
    assert found.true[1:].tolist() == (found.probabilities[1:] >= 0.5).tolist()
    assert not found.true[2]


def test_columns_of_labels_are_texts_also_where_none_is_known() -> None:
    frame = classify(line_run(), [("p5", "next", "p6")]).to_polars()
    assert frame["head_label"].dtype == frame["tail_label"].dtype == pl.String
    assert frame["head_label"].to_list() == [None]

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hale.errors import InputError
from hale.evaluation.calibration import calibrate
from hale.evaluation.classification import Verdict, Verdicts, classify
from tests.line_run import line_run


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
    own, overall = calibration.fits.by_relation[0].curve, calibration.fits.overall.curve
    np.testing.assert_allclose(
        found.probabilities,
        [*own.probability(found.scores[:3]), *overall.probability(found.scores[3:])],
    )
    assert len(found) == 4
    assert found[2] == Verdict("p0", "next", "p3", False, found.probabilities[2], -4.0, -2.0)
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
    frame = classify(run, [("one", "next", "p2"), ("p0", "next", "p1")]).to_polars()
    assert frame["head"].to_list() == ["p1", "p0"]
    assert frame["head_label"].to_list() == ["one", None]
    assert frame["tail_label"].to_list() == ["two words", "one"]
    assert frame["verdict"].to_list() == [True, True]
    assert frame.columns[-3:] == ["probability", "score", "threshold"]


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
    assert found.thresholds.tolist() == [-2.0, -0.5]
    assert [verdict.threshold for verdict in found] == [-2.0, -0.5]


def test_a_score_at_the_cut_is_true() -> None:
    cuts = np.array([-1.0, -1.0])
    triples = np.array([[0, 0, 1], [0, 0, 2]])
    below = np.nextafter(-1.0, -2.0)
    found = Verdicts(line_run().graph, triples, np.array([-1.0, below]), np.array([0.5, 0.5]), cuts)
    assert found.true.tolist() == [True, False]
    assert [verdict.verdict for verdict in found] == [True, False]


def test_columns_of_labels_are_texts_also_where_none_is_known() -> None:
    frame = classify(line_run(), [("p5", "next", "p6")]).to_polars()
    assert frame["head_label"].dtype == frame["tail_label"].dtype == pl.String
    assert frame["head_label"].to_list() == [None]

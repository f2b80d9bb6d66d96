from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hale.answers.predictor import predict
from hale.errors import InputError
from hale.evaluation.calibration import ByQuestions, calibrate, load_calibration
from hale.evaluation.calibration.asked_fit import AskedFit, ask
from hale.evaluation.calibration.standing import LISTED, Standings
from hale.evaluation.classification import classify
from hale.runs.folder import RunFolder
from hale.runs.run import Run, load_run
from tests.evaluation.calibration.urns import VALUES, urns


def calibrated(run: Run) -> ByQuestions:
    found = calibrate(run)
    assert isinstance(found, ByQuestions)
    return found


def every_value(run: Run, given: np.ndarray) -> np.ndarray:
    """All claims of some givens: (n * VALUES, 3)."""
    first = run.graph.entities.id("v0")
    heads, values = np.repeat(given, VALUES), np.tile(first + np.arange(VALUES), len(given))
    return np.stack([heads, np.zeros_like(heads), values], axis=1)


def test_probabilities_are_those_that_the_facts_were_drawn_with() -> None:
    """Of givens that nothing is known of: each band of p has that share of facts, and each p is
    near the one that its value was drawn with.
    """
    run, chances = urns(2400)
    found = calibrated(run)
    claims = every_value(run, run.graph.test[:, 0])
    p = found.probability_of(run, claims)
    facts = {tuple(fact) for fact in run.graph.test.tolist()}
    true = np.array([tuple(claim) in facts for claim in claims.tolist()])
    bands = [(p >= low) & (p < high) for low, high in ((0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 2))]
    for mine in bands:
        assert mine.sum() > 50
        error = np.sqrt((p[mine] * (1 - p[mine])).sum()) / mine.sum()
        assert abs(p[mine].mean() - true[mine].mean()) < 4 * error + 0.02
    exact = chances[claims[:, 0], claims[:, 2] - run.graph.entities.id("v0")]
    assert np.abs(p - exact).mean() < 0.01
    assert np.corrcoef(p, exact)[0, 1] > 0.97


def test_a_given_that_has_its_value_has_hardly_another() -> None:
    run, _ = urns()
    known = run.graph.train[:100]
    claims = every_value(run, known[:, 0])
    others = claims[~(claims[:, None] == known).all(axis=2).any(axis=1)]
    p = calibrated(run).probability_of(run, others)
    assert p.max() < 0.05


def test_answers_of_a_functional_relation_share_one_unit() -> None:
    run, _ = urns()
    assert Standings(run).cardinality.functional.tolist() == [True, True, False, False]
    p = calibrated(run).probability_of(run, every_value(run, run.graph.test[:, 0]))
    sums = p.reshape(-1, VALUES).sum(axis=1)
    assert sums.max() <= 1 + 1e-9
    assert sums.mean() > 0.9


def test_a_limited_choice_changes_no_probability(tmp_path: Path) -> None:
    """The last of all values, asked for alone, is as likely as at the end of the whole list."""
    run, _ = urns()
    run.save(tmp_path / "run")
    calibrate(run)
    head = run.graph.entities[int(run.graph.test[0, 0])]
    relation = run.graph.relations[0]
    every = predict(run, head=head, relation=relation, k=VALUES)
    assert len(every) > LISTED + 2
    alone = [
        predict(run, head=head, relation=relation, within=[one.name])[0].probability
        for one in every[LISTED - 2 :]
    ]
    assert alone == pytest.approx([one.probability for one in every[LISTED - 2 :]], rel=1e-6)


def test_without_the_unit_some_would_pass_it() -> None:
    """Equal chances of two thirds for each of the listed: their sum is what they are divided by."""
    run, _ = urns()
    standings, fit = Standings(run), calibrated(run).fit
    pooled = type(fit.pooled)(
        fit.pooled.centre,
        fit.pooled.spread,
        fit.pooled.low,
        fit.pooled.high,
        (float(np.log(2)), *np.zeros(len(fit.pooled.weights) - 1)),
    )
    flat = AskedFit(pooled, pooled, fit.outside, fit.outside_all, 1, 1)
    given, relation = run.graph.test[:1, 0], np.zeros(1, dtype=np.int64)
    lists = standings.lists(given, relation)
    listed = int((lists.scores > -np.inf).sum())
    assert listed == LISTED
    rows = np.zeros(LISTED, dtype=np.int64)
    p = flat.probabilities(standings, lists, rows, lists.entities[0])
    np.testing.assert_allclose(p, 1 / LISTED)
    away = np.setdiff1d(every_value(run, given)[:, 2], lists.entities[0])
    p = flat.probabilities(standings, lists, np.zeros(len(away), dtype=np.int64), away)
    np.testing.assert_allclose(p, 0, atol=1e-12)


def test_what_predict_shows_is_what_classify_says(tmp_path: Path) -> None:
    made, _ = urns(400)
    RunFolder.create(tmp_path / "run", made.settings, made.graph, made.model.state_dict())
    run = load_run(tmp_path / "run")
    calibrate(run)
    for head in (run.graph.test[0, 0], run.graph.train[0, 0]):
        name = run.graph.entities[head]
        shown = predict(run, head=name, relation="has", k=5)
        said = classify(run, [(name, "has", answer.name) for answer in shown])
        for answer, verdict in zip(shown, said, strict=True):
            assert answer.probability == pytest.approx(verdict.probability, rel=1e-4)
            assert verdict.known == answer.split
            assert verdict.verdict is (verdict.probability >= 0.5 or verdict.known == "train")


def test_what_is_no_candidate_is_next_to_impossible() -> None:
    """No given was ever a value. Of the facts held out those are outside whose value train has not;
    one of two more is supposed, and the share of all ten times in that of the relation.
    """
    run, _ = urns(400)
    found = calibrated(run)
    claim = np.array([[run.graph.test[0, 0], 0, run.graph.test[1, 0]]])
    facts = len(run.graph.valid)
    new = int((~np.isin(run.graph.valid[:, 2], run.graph.train[:, 2])).sum())
    overall = (new + 1) / (2 * facts + 2)
    assert found.fit.outside_all == pytest.approx(overall)
    assert found.fit.outside[0] == pytest.approx((new + 10 * overall) / (facts + 10))
    values = len(set(run.graph.train[:200, 2].tolist()))
    most = found.fit.outside[0] / (len(run.graph.entities) - values)
    assert 0 <= found.probability_of(run, claim)[0] <= most
    assert most < 1e-3


def test_kept_and_loaded_again(tmp_path: Path) -> None:
    made, _ = urns(400)
    RunFolder.create(tmp_path / "run", made.settings, made.graph, made.model.state_dict())
    run = load_run(tmp_path / "run")
    found = calibrated(run)
    assert load_calibration(load_run(tmp_path / "run")) == found
    assert found.reliability is not None
    assert sum(band.count for band in found.reliability.bands) == found.reliability.count


def test_reliability_is_judged_on_answers_that_were_not_fitted() -> None:
    run, _ = urns()
    told = calibrated(run).reliability
    assert told is not None
    for band in told.bands:
        assert band.probability is not None
        assert band.share is not None
        error = np.sqrt(band.probability * (1 - band.probability) / band.count)
        assert abs(band.probability - band.share) < 5 * error + 0.02


def test_validation_that_tells_nothing_is_told() -> None:
    run, _ = urns(400)
    standings = Standings(run)
    asked = ask(run.graph, standings, "valid")
    none = asked.shown.of(~np.isin(np.arange(len(asked.questions.given)), asked.shown.question))
    with pytest.raises(InputError, match="tell nothing about probabilities"):
        AskedFit.of(standings, none, asked.facts)

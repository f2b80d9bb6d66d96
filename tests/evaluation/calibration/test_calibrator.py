from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from hale.errors import EvaluationError, HaleWarning, InputError, RunError, UnknownNameError
from hale.evaluation.calibration import (
    ByNegatives,
    ByQuestions,
    calibrate,
    calibration_of,
    corrupt,
    judge_of,
    kept_calibration,
    load_calibration,
    triple_scores,
)
from hale.evaluation.calibration.calibrator import fingerprint
from hale.evaluation.calibration.platt import Platt
from hale.models import make_model
from hale.runs.folder import RunFolder
from hale.runs.run import Run, load_run
from tests.line_run import line_run

NEGATIVES = np.array([[0, 0, 3]] * 12)


@pytest.fixture
def stored(tmp_path: Path) -> Run:
    run = line_run()
    RunFolder.create(tmp_path / "run", run.settings, run.graph, run.model.state_dict())
    return load_run(tmp_path / "run")


def test_scores_by_hand_in_both_directions() -> None:
    run = line_run()
    with torch.no_grad():
        run.model.shift.weight[2] = torch.tensor([-3.0, 0.0])  # type: ignore[union-attr, index, operator]
    # next: 4 + 1 - 7 = -2 and, back, 7 - 3 - 4 = 0; twice: 4 + 2 - 7 = -1 both ways
    found = triple_scores(run.model, np.array([[4, 0, 7], [4, 1, 7]]))
    np.testing.assert_allclose(found, [-(4 + 0) / 2, -1])


def test_fitted_by_relation_and_else_by_all_together() -> None:
    run = line_run()
    graph = run.graph
    false = corrupt(graph, graph.valid, seed=4)
    found = calibrate(run, method="platt", negatives=false)
    assert isinstance(found, ByNegatives)
    triples = np.concatenate([graph.valid, false])
    scores, labels = triple_scores(run.model, triples), np.arange(len(triples)) < 14
    mine = triples[:, 1] == 0
    assert set(found.fits.by_relation) == {0}  # 'twice' has 2 triples and 2 negatives
    own, overall = found.fits.by_relation[0], found.fits.overall
    assert own.curve == Platt.fit(scores[mine], labels[mine])
    assert overall.curve == Platt.fit(scores, labels)
    assert (own.positives, own.negatives) == (12, 12)
    ask = np.array([0.0, -1.0, 0.0, -1.0])
    np.testing.assert_allclose(
        found.fits.probabilities(ask, np.array([0, 0, 1, 1])),
        [*own.curve.probability(ask[:2]), *overall.curve.probability(ask[:2])],
    )
    # every fact scores 0 and no corruption does, so the cut lies between
    highest = scores[~labels & mine].max()
    assert found.fits.thresholds(np.array([0]))[0] == highest / 2
    assert (found.probability_of(run, graph.valid[:1]) > 0.5).all()
    asked = np.array([[4, 0, 7], [4, 1, 7]])  # they score -4 and -1
    np.testing.assert_allclose(
        found.probability_of(run, asked),
        [
            own.curve.probability(np.array([-4.0]))[0],
            overall.curve.probability(np.array([-1.0]))[0],
        ],
    )


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_kept_with_the_run(stored: Run, method: str) -> None:
    assert load_calibration(stored) is None
    made = calibrate(stored, method=method, negatives=NEGATIVES)
    assert stored.path is not None
    values = json.loads((stored.path / "calibration.json").read_text())
    assert values["by_relation"].keys() == {"next"}
    assert (values["version"], values["kind"], values["method"]) == (2, "negatives", method)
    assert load_calibration(load_run(stored.path)) == made


def test_one_on_questions_is_kept_too(stored: Run) -> None:
    made = calibrate(stored, seed=3)
    assert isinstance(made, ByQuestions)
    assert stored.path is not None
    values = json.loads((stored.path / "calibration.json").read_text())
    assert (values["version"], values["kind"], values["seed"]) == (2, "questions", 3)
    assert load_calibration(load_run(stored.path)) == made
    assert calibrate(stored, save=False) == calibrate(stored, seed=0, save=False)


@pytest.mark.parametrize(("negatives", "again"), [("sampled", "run$"), ("given", "--negatives FI")])
def test_one_of_an_earlier_version_is_refused(stored: Run, negatives: str, again: str) -> None:
    """It has no version; its probabilities were against random corruptions."""
    assert stored.path is not None
    earlier = {"method": "isotonic", "negatives": negatives}
    RunFolder(stored.path).write_json("calibration.json", earlier)
    with pytest.raises(RunError, match=rf"another version.*hale calibrate .*{again}"):
        load_calibration(stored)
    with pytest.warns(HaleWarning, match="no probabilities: .*another version"):
        assert kept_calibration(stored) is None


def test_given_negatives(stored: Run) -> None:
    false = np.array([[0, 0, 3]] * 12)
    found = calibrate(stored, negatives=false)
    # facts at 0, negatives at -(0 + 1 - 3)^2
    assert isinstance(found, ByNegatives)
    assert found.fits.thresholds(np.array([0]))[0] == -2.0


def test_stale_after_the_weights_changed(stored: Run) -> None:
    calibrate(stored, negatives=np.array([[0, 0, 3]]))
    with torch.no_grad():
        stored.model.entity.weight[3, 1] = 0.5
    with pytest.raises(RunError, match=r"made for other weights.*hale calibrate .*--negatives"):
        load_calibration(stored)
    with pytest.raises(RunError, match="made for other weights"):
        calibration_of(stored)


def test_made_on_demand_without_a_trace(stored: Run) -> None:
    assert isinstance(calibration_of(stored), ByQuestions)
    assert load_calibration(stored) is None
    made = calibrate(stored, method="platt", negatives=NEGATIVES)
    assert calibration_of(stored) == made


def test_a_damaged_file_is_named(stored: Run) -> None:
    assert stored.path is not None
    calibrate(stored, negatives=NEGATIVES)
    file = stored.path / "calibration.json"
    whole = file.read_text()
    for damage in ("{", "[]", whole.replace('"isotonic"', '"plat"'), whole.replace("next", "nxt")):
        file.write_text(damage)
        with pytest.raises(RunError, match="calibration.json cannot be read"):
            load_calibration(stored)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_threshold_that_is_no_number_is_named(stored: Run, number: str) -> None:
    """Also one that was written so, with the right checksum."""
    assert stored.path is not None
    calibrate(stored, negatives=NEGATIVES)
    values = RunFolder(stored.path).read_json("calibration.json")
    values["overall"]["threshold"] = float(number)
    RunFolder(stored.path).write_json("calibration.json", values)
    with pytest.raises(RunError, match=rf"calibration\.json cannot be read \(it holds {number}"):
        load_calibration(stored)


def test_faults() -> None:
    run = line_run()
    with pytest.raises(UnknownNameError, match="Did you mean 'platt'"):
        calibrate(run, method="plat", negatives=NEGATIVES)
    with pytest.raises(InputError, match="'platt' is one of curves against negatives"):
        calibrate(run, method="platt")
    with pytest.raises(InputError, match=r"no negatives to calibrate against\.$"):
        calibrate(run, negatives=np.empty((0, 3), dtype=np.int64))
    with pytest.raises(InputError, match="no valid triples"):
        calibrate(line_run_without_valid())
    with torch.no_grad():
        run.model.entity.weight[0] = torch.nan
    with pytest.raises(EvaluationError, match="not finite"):
        calibrate(run)
    with pytest.raises(EvaluationError, match="not finite"):
        calibrate(run, negatives=NEGATIVES)


def line_run_without_valid() -> Run:
    run = line_run()
    graph = run.graph
    object.__setattr__(graph, "valid", np.empty((0, 3), dtype=np.int64))
    return run


def test_what_is_ruled_out_bends_no_curve() -> None:
    """A loop among thirty negatives: the same fit as without it, and the lowest probability."""
    run = line_run()
    torch.manual_seed(0)
    run.model = make_model("transe", run.graph.size, 4, loops=False).eval()
    assert run.model.may_loop is not None
    run.model.may_loop[:] = False
    n = len(run.graph.entities)
    others = np.array([[i, 0, (i + 3) % n] for i in range(n)])
    loop = np.array([[1, 0, 1]])
    plain = calibrate(run, method="platt", negatives=others, save=False)
    with_loop = calibrate(run, method="platt", negatives=np.concatenate([others, loop]), save=False)
    assert isinstance(plain, ByNegatives)
    assert isinstance(with_loop, ByNegatives)
    assert with_loop.fits == plain.fits
    assert with_loop.probability_of(run, loop)[0] <= plain.probability_of(run, others).min()
    with pytest.raises(InputError, match="all are ruled out"):
        calibrate(run, negatives=loop, save=False)


def test_a_fingerprint_tells_shapes_and_names_apart() -> None:
    """The same bytes under another name or in another shape are other weights."""
    plain = torch.nn.Module()
    plain.register_buffer("a", torch.zeros(2, 3))
    turned = torch.nn.Module()
    turned.register_buffer("a", torch.zeros(3, 2))
    renamed = torch.nn.Module()
    renamed.register_buffer("b", torch.zeros(2, 3))
    marks = {fingerprint(module) for module in (plain, turned, renamed)}
    assert len(marks) == 3
    assert {len(mark) for mark in marks} == {16}


def test_scores_are_taken_in_chunks_of_65536_triples(monkeypatch: pytest.MonkeyPatch) -> None:
    run = line_run()
    asked = []
    score = run.model.score

    def noted(head: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        asked.append(len(head))
        return score(head, *others)

    monkeypatch.setattr(run.model, "score", noted)
    triples = np.tile(np.array([[4, 0, 7], [4, 1, 7]]), ((1 << 15) + 1, 1))
    found = triple_scores(run.model, triples)
    assert asked == [1 << 16, 1 << 16, 2, 2]
    assert np.array_equal(found, np.tile([-4.0, -1.0], (1 << 15) + 1))


def test_a_kept_calibration_is_read_and_none_is_made(stored: Run) -> None:
    assert kept_calibration(stored) is None
    made = calibrate(stored, method="platt", negatives=NEGATIVES)
    assert kept_calibration(stored) == made


def test_what_was_read_is_held_until_file_or_weights_are_others(stored: Run) -> None:
    """A served run is asked thousands of times: it reads and looks through train once."""
    assert stored.path is not None
    calibrate(stored)
    kept = load_calibration(stored)
    assert kept is not None
    assert load_calibration(stored) is kept
    assert judge_of(stored, kept) is judge_of(stored, kept)
    assert load_calibration(load_run(stored.path)) is not kept  # another run has its own
    calibrate(stored, negatives=NEGATIVES)
    other = load_calibration(stored)
    assert isinstance(other, ByNegatives)
    assert judge_of(stored, other) is not judge_of(stored, kept)
    with torch.no_grad():
        stored.model.entity.weight.add_(1.0)
    with pytest.raises(RunError, match="other weights"):
        load_calibration(stored)


def test_a_fingerprint_follows_the_weights() -> None:
    """It is held from question to question, but not past a change in place."""
    run = line_run()
    first = fingerprint(run.model)
    assert fingerprint(run.model) == first
    with torch.no_grad():
        run.model.entity.weight[0] += 1
    assert fingerprint(run.model) != first
    with torch.no_grad():
        run.model.entity.weight[0] -= 1
    assert fingerprint(run.model) == first


def test_a_calibration_that_no_folder_keeps_is_made_once() -> None:
    run = line_run()
    made = calibration_of(run)
    assert calibration_of(run) is made
    with torch.no_grad():
        run.model.entity.weight[0] += 1
    assert calibration_of(run) is not made

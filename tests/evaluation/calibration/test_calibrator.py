from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from hale.errors import EvaluationError, InputError, RunError, UnknownNameError
from hale.evaluation.calibration import (
    Calibration,
    calibrate,
    calibration_of,
    corrupt,
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
    found = calibrate(run, method="platt", seed=4)
    false = corrupt(graph, graph.valid, seed=4)
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
        found.probability(ask, np.array([0, 0, 1, 1])),
        [*own.curve.probability(ask[:2]), *overall.curve.probability(ask[:2])],
    )
    # every fact scores 0 and no corruption does, so the cut lies between
    highest = scores[~labels & mine].max()
    assert found.threshold(np.array([0]))[0] == highest / 2
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
    made = calibrate(stored, method=method, seed=2)
    assert stored.path is not None
    values = json.loads((stored.path / "calibration.json").read_text())
    assert values["by_relation"].keys() == {"next"}
    assert (values["method"], values["negatives"], values["seed"]) == (method, "sampled", 2)
    assert load_calibration(load_run(stored.path)) == made


def test_given_negatives(stored: Run) -> None:
    false = np.array([[0, 0, 3]] * 12)
    found = calibrate(stored, negatives=false)
    assert (found.negatives, found.seed) == ("given", None)
    # facts at 0, negatives at -(0 + 1 - 3)^2
    assert found.threshold(np.array([0]))[0] == -2.0


def test_stale_after_the_weights_changed(stored: Run) -> None:
    calibrate(stored, negatives=np.array([[0, 0, 3]]))
    with torch.no_grad():
        stored.model.entity.weight[3, 1] = 0.5
    with pytest.raises(RunError, match=r"made for other weights.*hale calibrate .*--negatives"):
        load_calibration(stored)
    with pytest.raises(RunError, match="made for other weights"):
        calibration_of(stored)


def test_made_on_demand_without_a_trace(stored: Run) -> None:
    assert isinstance(calibration_of(stored), Calibration)
    assert load_calibration(stored) is None
    made = calibrate(stored, method="platt")
    assert calibration_of(stored) == made


def test_a_damaged_file_is_named(stored: Run) -> None:
    assert stored.path is not None
    calibrate(stored)
    file = stored.path / "calibration.json"
    whole = file.read_text()
    for damage in ("{", "[]", whole.replace('"isotonic"', '"plat"'), whole.replace("next", "nxt")):
        file.write_text(damage)
        with pytest.raises(RunError, match="calibration.json cannot be read"):
            load_calibration(stored)


def test_faults() -> None:
    run = line_run()
    with pytest.raises(UnknownNameError, match="Did you mean 'platt'"):
        calibrate(run, method="plat")
    with pytest.raises(InputError, match=r"no negatives to calibrate against\.$"):
        calibrate(run, negatives=np.empty((0, 3), dtype=np.int64))
    with pytest.raises(InputError, match="no valid triples"):
        calibrate(line_run_without_valid())
    with torch.no_grad():
        run.model.entity.weight[0] = torch.nan
    with pytest.raises(EvaluationError, match="not finite"):
        calibrate(run)


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
    assert with_loop.fits == plain.fits
    assert with_loop.probability_of(run, loop)[0] <= plain.probability_of(run, others).min()
    with pytest.raises(InputError, match="all are ruled out"):
        calibrate(run, negatives=loop, save=False)


def test_the_seed_is_zero_unless_it_is_given() -> None:
    assert calibrate(line_run()) == calibrate(line_run(), seed=0)
    assert calibrate(line_run()).seed == 0


def test_every_corruption_may_be_a_fact() -> None:
    run = line_run(4, num_valid=1)
    every = np.array([[h, r, t] for h in range(4) for r in range(2) for t in range(4)])
    object.__setattr__(run.graph, "valid", every)
    with pytest.raises(InputError, match="every corruption is a known fact"):
        calibrate(run)


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
    made = calibrate(stored, method="platt")
    assert kept_calibration(stored) == made

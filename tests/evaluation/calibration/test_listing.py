"""Lists made of the blocks of a prediction are those that are made for themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from hale.answers.predictor import Known, find_answers
from hale.answers.queries import OPEN
from hale.data.keys import Ids
from hale.evaluation import spans
from hale.evaluation.calibration import calibration_of, judge_of
from hale.evaluation.calibration.standing import Standings
from hale.evaluation.candidate_scores import CandidateScores, best_candidates
from hale.evaluation.candidates import Candidates
from hale.models.base import Model
from tests.line_run import line_run


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several spans of entities to a query, and queries in several chunks."""
    monkeypatch.setattr(spans, "CHUNK_ELEMENTS", 40)
    monkeypatch.setattr(spans, "LEAST_QUERIES", 4)


def queries() -> Ids:
    """Tails, heads and a relation asked for, one query twice."""
    rows = [(14, 0, OPEN), (OPEN, 1, 20), (3, OPEN, 6), (14, 0, OPEN), (OPEN, 0, 2), (29, 1, OPEN)]
    return np.array(rows, dtype=np.int64)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("known", ["mark", "drop"])
@pytest.mark.parametrize("k", [1, 4, 100])
@pytest.mark.parametrize("among", [None, np.array([1, 9, 16, 19, 25])])
def test_probabilities_are_those_of_lists_of_their_own(
    known: Known, k: int, among: Ids | None
) -> None:
    """Also where who asks limits the candidates: what is likely does not depend on that."""
    run = line_run(30)
    limited = Candidates(run.graph, among=among)
    found = find_answers(run, queries(), k=k, known=known, above=0.0, candidates=limited)
    judge = judge_of(run, calibration_of(run))
    count = 0
    for part in found:
        apart = judge.answers(part.triples, part.place)  # scores the candidates once more
        assert part.probability is not None
        assert part.probability.tolist() == apart.tolist()
        count += len(part)
    assert count >= 4


def test_lists_do_not_depend_on_how_many_are_made_at_once(
    request: pytest.FixtureRequest,
) -> None:
    found = Standings(line_run(30))
    given, relations = np.arange(2, 28), np.arange(2, 28) % 4
    whole = found.lists(given, relations, depth=5)
    request.getfixturevalue("narrow")
    parts = found.lists(given, relations, depth=5)
    assert parts.entities.tolist() == whole.entities.tolist()
    assert parts.scores.tolist() == whole.scores.tolist()


def test_the_candidates_are_scored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run = line_run(30)
    asked = np.array([(14, 0, OPEN)], dtype=np.int64)
    list(find_answers(run, asked, k=3, above=0.0))  # the calibration is made
    scored: list[int] = []
    score = Model.score_rows

    def noted(model: Model, head: Tensor, relation: Tensor, rows: slice | Tensor) -> Tensor:
        scored.append(len(head))
        return score(model, head, relation, rows)

    monkeypatch.setattr(Model, "score_rows", noted)
    list(find_answers(run, asked, k=3, above=0.0))
    assert scored == [1]
    judge_of(run, calibration_of(run)).answers(np.array([(14, 0, 16)]), np.array([2], np.int8))
    assert scored == [1, 1]  # what is asked apart scores them for itself


@pytest.mark.usefixtures("narrow")
@torch.inference_mode()
def test_a_block_is_left_as_it_was() -> None:
    run = line_run(30)
    found = Standings(run)
    given, relations = np.array([14, 15]), np.array([0, 0])
    listing = found.listing(given, relations, depth=3)

    class Careful:
        known = listing.known

        def add(self, block: CandidateScores) -> None:
            before = block.scores.clone()
            listing.add(block)
            assert torch.equal(block.scores, before)

    best = best_candidates(
        run.model, given, relations, 1, Candidates(run.graph), rule=found.rule, beside=Careful()
    )
    # the known answers are seen by who predicts, and in no list
    assert [entities.tolist() for _, _, entities in best] == [[[15], [16]]]
    apart = found.lists(given, relations, depth=3)
    assert listing.lists().entities.tolist() == apart.entities.tolist()
    assert listing.lists().scores.tolist() == apart.scores.tolist()
    assert 15 not in apart.entities[0]


def test_limited_candidates_are_not_those_of_probabilities() -> None:
    graph = line_run(10).graph
    assert not Candidates(graph).limited
    assert Candidates(graph, anything=True).limited
    assert Candidates(graph, among=np.array([1])).limited

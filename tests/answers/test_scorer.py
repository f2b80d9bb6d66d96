"""The best answers over spans of entities, against whole tables of scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hale.answers.scorer import Scorer
from hale.data.graph import Graph
from hale.evaluation.candidates import Candidates
from hale.models import make_model
from hale.runs.run import Run, Summary
from hale.settings import make_settings


@pytest.fixture
def run(graph: Graph) -> Run:
    torch.manual_seed(0)
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    model = make_model("rotl", graph.size, 8).eval()
    return Run(make_settings(model="rotl", dim=8), graph, model, summary)


@pytest.mark.parametrize("span", [1, 5, 7, 24, 100])
@pytest.mark.parametrize("k", [1, 6, 24])
@torch.inference_mode()
def test_spans_change_nothing(run: Run, span: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known answers left out, and an entity itself, wherever the span ends."""
    monkeypatch.setattr("hale.evaluation.spans.CHUNK_ELEMENTS", 10 * span)
    monkeypatch.setattr("hale.evaluation.spans.LEAST_QUERIES", 10)
    given, relations = np.arange(24), np.arange(24) % 4
    table = run.model.score_all(torch.tensor(given), torch.tensor(relations))
    rows, columns = run.graph.known_answers.of(given, relations)
    table[rows, columns] = -torch.inf
    table.fill_diagonal_(-torch.inf)
    expected = table.topk(k)
    scorer = Scorer(run, Candidates(run.graph, anything=True))
    found = list(scorer.best_entities(given, relations, k, run.graph.known_answers))
    assert np.concatenate([rows for rows, *_ in found]).tolist() == list(range(24))
    values = np.concatenate([values for _, values, _ in found])
    answers = np.concatenate([answers for *_, answers in found])
    assert np.allclose(values, expected.values, atol=1e-5)
    left = values > -np.inf
    assert np.array_equal(answers[left], expected.indices.numpy()[left])


def test_a_chunk_does_not_shrink_with_the_entities(run: Run) -> None:
    """64 queries at once of a table of any length, if relations do not need more."""
    run.model.size = run.model.size._replace(num_entities=10_000_000)
    assert Scorer(run, Candidates(run.graph)).chunk == 64
    run.model.size = run.model.size._replace(num_relations=1 << 20)
    assert Scorer(run, Candidates(run.graph)).chunk == 1

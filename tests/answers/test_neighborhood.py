"""Neighbours, by plain Python scalars."""

from __future__ import annotations

import math

import pytest
import torch

from hale.answers.neighborhood import Metric, neighbors
from hale.data.graph import Graph
from hale.errors import EvaluationError, InputError, UnknownNameError
from hale.models import make_model
from hale.runs.run import Run, Summary
from hale.settings import make_settings


@pytest.fixture
def run(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr("hale.evaluation.spans.CHUNK_ELEMENTS", 5 * 4)  # five rows at a time
    torch.manual_seed(0)
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    return Run(
        make_settings(model="transe", dim=4), graph, make_model("transe", graph.size, 4), summary
    )


def distance(metric: str, x: list[float], y: list[float]) -> float:
    if metric == "l2":
        return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
    inner = sum(a * b for a, b in zip(x, y, strict=True))
    return 1 - inner / math.hypot(*x) / math.hypot(*y)


@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize(("k", "count"), [(3, 3), (23, 23), (1000, 23)])
def test_against_plain_loops(run: Run, metric: str, k: int, count: int) -> None:
    vectors = run.model.entities().tolist()
    far = {
        name: distance(metric, vectors[7], vectors[number])
        for number, name in enumerate(run.graph.entities.names)
        if number != 7
    }
    found = neighbors(run, "e007", k=k, metric=metric)
    assert [n.entity for n in found] == sorted(far, key=lambda name: far[name])[:count]
    assert [n.distance for n in found] == pytest.approx([far[n.entity] for n in found], abs=1e-6)
    assert [n.rank for n in found] == list(range(1, count + 1))


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_among_some_entities(run: Run, metric: Metric) -> None:
    """Those of a set, or who leads to e009 or e012 by 'skip': the nearest of all that are in it."""
    everyone = neighbors(run, "e007", k=23, metric=metric)
    names = [f"e{number:03}" for number in (1, 4, 7, 9, 20, 23, 2)]
    found = neighbors(run, "e007", k=4, metric=metric, within=names)
    expected = [n for n in everyone if n.entity in names][:4]
    assert [n.entity for n in found] == [n.entity for n in expected]
    assert [n.distance for n in found] == pytest.approx([n.distance for n in expected])
    assert [n.rank for n in found] == [1, 2, 3, 4]
    typed = neighbors(run, "e007", metric=metric, types=["e009", "e012"], type_relation="skip")
    assert [n.entity for n in typed] == ["e010"], "e007 itself leads to e009"
    with pytest.raises(InputError, match="no entity but 'e007' itself"):
        neighbors(run, "e007", within=["e007"])


def test_labels_ask_and_answer(run: Run) -> None:
    found = neighbors(run, "the first", k=23)
    assert "e000" not in {n.entity for n in found}
    assert {n.label for n in found if n.entity in ("e001", "e002")} == {"twin"}


def test_faults(run: Run) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'e007'"):
        neighbors(run, "e0077")
    with pytest.raises(UnknownNameError, match="Did you mean 'cosine'"):
        neighbors(run, "e007", metric="cosin")
    with pytest.raises(InputError, match="at least 1, got 0"):
        neighbors(run, "e007", k=0)
    with torch.no_grad():
        run.model.entity.weight[3] = torch.nan
    with pytest.raises(EvaluationError, match="not finite"):
        neighbors(run, "e007")

from __future__ import annotations

import numpy as np
import pytest
import torch

from hale.errors import EvaluationError, InputError, UnknownNameError
from hale.graph import Graph, Vocabulary
from hale.models import make_model
from hale.predictor import predict
from hale.run import Run, Summary
from hale.settings import make_settings


@pytest.fixture
def run() -> Run:
    """Points 0, 1, 2, 4 on a line; 'next' adds one."""
    graph = Graph(
        "line",
        Vocabulary(["p0", "p1", "p2", "p4"], "entity"),
        Vocabulary(["next"], "relation"),
        train=np.array([[0, 0, 1]]),
        valid=np.empty((0, 3)),
        test=np.array([[1, 0, 2]]),
        labels={"p1": "one", "p2": "two"},
    )
    model = make_model("transe", graph.size, 1)
    with torch.no_grad():
        model.entity.weight.copy_(torch.tensor([[0.0], [1.0], [2.0], [4.0]]))
        model.shift.weight.copy_(torch.tensor([[1.0], [-1.0]]))  # type: ignore[union-attr, operator]
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    return Run(make_settings(model="transe", dim=1), graph, model, summary)


def test_tails_by_hand(run: Run) -> None:
    answers = predict(run, head="p1", relation="next", k=3)
    # the query sits at 2: p2 0 away, p1 1, and p0 and p4 both 2
    assert [(a.rank, a.entity, a.label, a.score, a.known) for a in answers[:2]] == [
        (1, "p2", "two", 0.0, True),
        (2, "p1", "one", -1.0, False),
    ]
    assert answers[2].score == -4.0
    assert [answer.split for answer in answers[:2]] == ["test", None]
    assert len(answers) == 3
    assert (answers.head, answers.relation, answers.tail) == ("p1", "next", None)


def test_heads_by_hand_and_by_label(run: Run) -> None:
    answers = predict(run, relation="next", tail="one", k=1)
    assert [(a.entity, a.score, a.known) for a in answers] == [("p0", 0.0, True)]
    assert answers.tail == "p1"


def test_more_than_all_gives_all(run: Run) -> None:
    assert len(predict(run, head="p0", relation="next", k=100)) == 4


def test_as_dict(run: Run) -> None:
    found = predict(run, head="p0", relation="next", k=1).as_dict()
    assert found == {
        "head": "p0",
        "relation": "next",
        "tail": None,
        "answers": [{"rank": 1, "entity": "p1", "label": "one", "score": 0.0, "known": True}],
    }


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ({"head": "p0"}, InputError, "either a head or a tail"),
        ({"relation": "next"}, InputError, "either a head or a tail"),
        ({"head": "p0", "relation": "next", "tail": "p1"}, InputError, "either a head"),
        ({"head": "p0", "relation": "nxt"}, UnknownNameError, "Did you mean 'next'"),
        ({"head": "P1", "relation": "next"}, UnknownNameError, "Did you mean 'p1'"),
        ({"head": "p0", "relation": "next", "k": 0}, InputError, "at least 1"),
    ],
)
def test_faults(run: Run, query: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        predict(run, **query)  # type: ignore[arg-type]


def test_scores_that_are_not_finite(run: Run) -> None:
    with torch.no_grad():
        run.model.entity.weight[3] = torch.nan
    with pytest.raises(EvaluationError, match="not finite"):
        predict(run, head="p0", relation="next")

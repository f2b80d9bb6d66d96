"""A fact explained: points on a line, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hale.answers.explanation import why
from hale.data.graph import Graph, Vocabulary
from hale.errors import InputError, UnknownNameError
from hale.models import make_model
from hale.runs.run import Run, Summary
from hale.settings import make_settings


@pytest.fixture
def run() -> Run:
    """Points 0, 1, 2, 4, 8; 'next' adds one, its reciprocal takes two away."""
    graph = Graph(
        "line",
        Vocabulary(["p0", "p1", "p2", "p4", "p8"], "entity"),
        Vocabulary(["next", "far"], "relation"),
        train=np.array([[0, 0, 1], [1, 0, 2], [3, 0, 4], [2, 0, 3], [1, 1, 1]]),
        valid=np.array([[0, 0, 2]]),
        test=np.array([[0, 1, 4]]),
        labels={"p1": "one"},
    )
    model = make_model("transe", graph.size, 1)
    with torch.no_grad():
        model.entity.weight.copy_(torch.tensor([[0.0], [1.0], [2.0], [4.0], [8.0]]))
        model.shift.weight.copy_(torch.tensor([[1.0], [0.0], [-2.0], [0.0]]))
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    return Run(make_settings(model="transe", dim=1), graph, model, summary)


def test_an_unknown_fact(run: Run) -> None:
    found = why(run, "one", "next", "p4", k=2)
    assert (found.head, found.head_label, found.tail, found.tail_label) == ("p1", "one", "p4", None)
    assert found.score == -4.0  # (1 + 1 - 4)^2
    # (p1, next, ?) sits at 2: p2 is known and left out, p1 is 1 away, p0 and p4 2, p8 6
    assert found.tail_rank == 2.5
    # (?, next, p4) sits at 2: p2 is known and left out, p1 is nearest
    assert found.head_rank == 1
    assert found.num_entities == 5
    assert found.split is None
    assert not found.known
    # |h - h'|^2 + |t - t'|^2 from (1, 4): (1, 2) 4, (2, 4) 1, (0, 1) 10, (4, 8) 25
    assert [(s.head, s.tail) for s in found.support] == [("p2", "p4"), ("p1", "p2")]
    assert [(s.distance, s.head_distance, s.tail_distance) for s in found.support] == [
        (1.0, 1.0, 0.0),
        (2.0, 0.0, 2.0),
    ]
    assert found.support[1].head_label == "one"
    assert 0 < found.as_dict()["probability"] < 1
    assert found.as_dict()["support"][0]["head"] == "p2"


@pytest.mark.parametrize(
    ("fact", "split", "count"),
    [
        (("p0", "next", "p1"), "train", 3),  # not its own support
        (("p0", "next", "p2"), "valid", 4),
        (("p0", "far", "p8"), "test", 1),
        (("p1", "far", "p1"), "train", 0),
    ],
)
def test_a_known_fact(run: Run, fact: tuple[str, str, str], split: str, count: int) -> None:
    found = why(run, *fact, k=10)
    assert found.split == split
    assert len(found.support) == count
    assert (found.head, found.tail) not in {(s.head, s.tail) for s in found.support}


def test_faults(run: Run) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'p1'"):
        why(run, "P1", "next", "p2")
    with pytest.raises(UnknownNameError, match="Did you mean 'next'"):
        why(run, "p1", "nexxt", "p2")
    with pytest.raises(InputError, match="at least 1, got 0"):
        why(run, "p1", "next", "p2", k=0)

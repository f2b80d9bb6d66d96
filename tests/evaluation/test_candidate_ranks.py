"""Ranks among candidates, by hand and against plain counting."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hale.data.graph import Graph, Vocabulary
from hale.data.types import Types
from hale.evaluation.candidate_ranks import ranks_among
from hale.evaluation.candidates import Candidates, TypedCandidates
from hale.evaluation.ranks import Ties, filtered_ranks
from tests.evaluation.test_candidate_scores import MODELS, model_of
from tests.evaluation.test_candidates import toy_graph
from tests.evaluation.test_evaluator import Fixed

NOTHING = np.empty((0, 3), dtype=np.int64)


def small(train: list[tuple[int, int, int]], test: list[tuple[int, int, int]]) -> Graph:
    return Graph(
        "small",
        Vocabulary([f"e{i}" for i in range(6)], "entity"),
        Vocabulary(["r"], "relation"),
        train=np.array(train),
        valid=NOTHING,
        test=np.array(test),
    )


@pytest.mark.parametrize(
    ("ties", "expected"), [("optimistic", 2), ("mean", 2.5), ("pessimistic", 3)]
)
def test_by_hand(ties: Ties, expected: float) -> None:
    """Of 6 3 3 4 5 3, entities 1, 2, 4 and 5 are candidates and 5 is known: 4 is above 1, 2 beside.

    0 is above too, and no candidate; 3 as a target is none either.
    """
    graph = small([(0, 0, 5)], [(0, 0, 1)])
    model = Fixed(torch.tensor([[6.0, 3, 3, 4, 5, 3]]))
    among = Candidates(graph, anything=True, among=np.array([1, 2, 4, 5]))
    asked = np.array([(0, 0, 1), (0, 0, 3)])
    found = ranks_among(model, asked, among, graph.known(), ties=ties)
    assert found.tolist() == [expected, np.inf]


def test_candidates_of_the_types_that_answers_have() -> None:
    """Tails of train are 1 and 2, of types a and b: so are 3 and 4; 5 has another, 0 none."""
    graph = small([(0, 0, 1), (1, 0, 2)], [(0, 0, 3)])
    pairs = np.array([(1, 0), (2, 1), (3, 1), (4, 0), (4, 2), (5, 2)])
    types = Types(Vocabulary(["a", "b", "c"], "type"), pairs[:, 0], pairs[:, 1])
    typed = TypedCandidates(graph, types)
    tails, heads = typed.of(0), typed.of(1)
    assert tails is not None
    assert heads is not None
    assert tails.tolist() == [1, 2, 3, 4]
    assert heads.tolist() == [1, 4], "of heads 0 has no type, and 1 is an a"
    assert typed.loops.all()
    only = Types(Vocabulary(["c"], "type"), np.array([5]), np.array([0]))
    assert TypedCandidates(graph, only).of(0) is None
    model = Fixed(torch.tensor([[9.0, 5, 4, 3, 4, 8]]))
    # for (0, r, 3): 2 and 4 are above, 1 is known, 0 and 5 are of no such type
    found = ranks_among(model, np.array([(0, 0, 3), (0, 0, 5)]), typed, graph.known())
    assert found.tolist() == [3, np.inf]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("span", [2, 7, 1000])
@torch.inference_mode()
def test_against_plain_counting(kind: str, span: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every similarity, few candidates and many, in blocks of any shape."""
    monkeypatch.setattr("hale.evaluation.spans.CHUNK_ELEMENTS", 5 * span)
    monkeypatch.setattr("hale.evaluation.spans.LEAST_QUERIES", 5)
    graph = toy_graph()
    name, options = MODELS[kind]
    model = model_of(graph, name, **options)
    known = graph.known()
    triples = graph.both_directions(graph.triples)
    everyone = Candidates(graph, anything=True, among=np.arange(24))
    everyone.loops = np.ones_like(everyone.loops)
    found = ranks_among(model, triples, everyone, known)
    assert found == pytest.approx(filtered_ranks(model, triples, known))
    few = Candidates(graph, anything=True, among=np.arange(8))  # under half: rows are gathered
    few.loops = np.ones_like(few.loops)
    inside = triples[triples[:, 2] < 8]
    for (head, relation, tail), rank in zip(
        inside.tolist(), ranks_among(model, inside, few, known), strict=True
    ):
        scores = model.score_all(torch.tensor([head]), torch.tensor([relation]))[0]
        others = set(known.of(np.array([head]), np.array([relation]))[1].tolist()) - {tail}
        rivals = scores[sorted(set(range(8)) - others - {tail})]
        assert rank == 1 + (rivals > scores[tail]).sum() + (rivals == scores[tail]).sum() / 2
    candidates = Candidates(graph)
    for (head, relation, tail), rank in zip(
        triples.tolist(), ranks_among(model, triples, candidates, known), strict=True
    ):
        ids = candidates.of(relation)
        allowed = set(range(24) if ids is None else ids.tolist())
        allowed -= set() if candidates.loops[relation] else {head}
        if tail not in allowed:
            assert rank == np.inf
            continue
        scores = model.score_all(torch.tensor([head]), torch.tensor([relation]))[0]
        others = set(known.of(np.array([head]), np.array([relation]))[1].tolist()) - {tail}
        rivals = scores[sorted(allowed - others - {tail})]
        assert rank == 1 + (rivals > scores[tail]).sum() + (rivals == scores[tail]).sum() / 2

"""The scores of candidates, against whole tables that are masked."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from hale.data.graph import Graph, Ids, Vocabulary
from hale.errors import EvaluationError
from hale.evaluation.candidate_scores import best_candidates, score_candidates
from hale.evaluation.candidates import Candidates
from hale.models import Model, make_model
from tests.evaluation.test_candidates import NOTHING, toy_graph
from tests.evaluation.test_evaluator import Fixed


@pytest.fixture
def toy() -> Graph:
    return toy_graph()


MODELS = {
    "l2": ("rotl", {}),
    "heights": ("rotl", {"heights": True}),
    "loops": ("rotl", {"loops": False}),
    "l2 with biases": ("mure", {"biases": True}),
    "dot": ("complex", {}),
    "dot with biases": ("distmult", {"biases": True}),
    "convolution": ("conve", {}),
    "hyperbolic": ("roth", {"biases": True}),
    "hyperbolic without biases": ("atth", {"biases": False}),
}


def model_of(graph: Graph, name: str, **options: object) -> Model:
    torch.manual_seed(0)
    model = make_model(name, graph.size, 8, init_scale=0.5, **options).eval()  # type: ignore[arg-type]
    for table in (model.head_bias, model.tail_bias):
        if table is not None:
            torch.nn.init.normal_(table.weight)
    return model


def masked(model: Model, given: Ids, relations: Ids, candidates: Candidates) -> Tensor:
    """The obvious way: all scores, and minus infinity for whoever may not answer."""
    scores = model.score_all(torch.tensor(given), torch.tensor(relations))
    for row, (entity, relation) in enumerate(zip(given.tolist(), relations.tolist(), strict=True)):
        ids = candidates.of(relation)
        for answer in range(scores.shape[1]):
            if ids is not None and answer not in ids.tolist():
                scores[row, answer] = -torch.inf
        if not candidates.loops[relation]:
            scores[row, entity] = -torch.inf
    return scores


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("span", [2, 7, 1000])
@pytest.mark.parametrize("narrow", [{}, {"anything": True}, {"among": np.arange(1, 24, 2)}])
@torch.inference_mode()
def test_the_best_are_those_of_the_whole_table_masked(
    toy: Graph, kind: str, span: int, narrow: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For every similarity, few candidates and many, in blocks of any shape, all relations mixed.

    'in' has 2 candidates or 12 of 24, 'near' 20, and 'rare' one or all that stand near.
    """
    monkeypatch.setattr("hale.evaluation.spans.CHUNK_ELEMENTS", 5 * span)
    monkeypatch.setattr("hale.evaluation.spans.LEAST_QUERIES", 5)
    name, options = MODELS[kind]
    model = model_of(toy, name, **options)
    candidates = Candidates(toy, **narrow)  # type: ignore[arg-type]
    given, relations = np.arange(48) % 24, np.arange(48) % 7 % 6
    for known in (None, toy.known_answers):
        table = masked(model, given, relations, candidates)
        if known is not None:
            rows, answers = known.of(given, relations)
            table[rows, answers] = -torch.inf
        expected = table.topk(6)
        values, entities = torch.full((48, 6), -torch.inf), torch.zeros(48, 6, dtype=torch.long)
        found = []
        for rows, scores, ids in best_candidates(model, given, relations, 6, candidates, known):
            values[rows, : scores.shape[1]], entities[rows, : ids.shape[1]] = scores, ids
            found += rows.tolist()
        assert sorted(found) == sorted(set(found)), "each query once"
        assert torch.allclose(values, expected.values, atol=1e-5)
        left = values > -torch.inf
        assert torch.equal(entities[left], expected.indices[left])
        assert left.sum() > 100, "there are answers to compare"


@torch.inference_mode()
def test_what_the_model_rules_out_is_no_answer(toy: Graph) -> None:
    """A run that was trained without loops of 'near', before its first was added."""
    model = model_of(toy, "rotl", loops=False)
    assert model.may_loop is not None
    model.may_loop[1] = False
    _, values, entities = next(
        iter(best_candidates(model, np.array([3]), np.array([1]), 24, Candidates(toy)))
    )
    assert 3 not in entities[values > -torch.inf].tolist()


class Counting(Model):
    """Tells how many rows it was asked to compare."""

    name = "counting"

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        return vectors

    def score_rows(self, head: Tensor, relation: Tensor, rows: slice | Tensor) -> Tensor:
        scores = super().score_rows(head, relation, rows)
        self.asked = [*getattr(self, "asked", []), tuple(scores.shape)]
        return scores


def test_a_query_costs_what_its_candidates_cost(toy: Graph) -> None:
    """Two places for three queries of 'in'; for one of 'near', with 20 of 24, all are scored."""
    model = Counting(toy.size, 4)
    given, relations = np.array([0, 7, 1, 2]), np.array([0, 1, 0, 0])
    blocks = list(score_candidates(model, given, relations, Candidates(toy)))
    assert model.asked == [(1, 24), (3, 2)]
    assert [block.rows.tolist() for block in blocks] == [[1], [0, 2, 3]]
    assert [block.entities.tolist() for block in blocks] == [list(range(24)), [12, 13]]
    assert all(block.last for block in blocks)


def test_known_answers_are_told_by_their_columns(toy: Graph) -> None:
    """Of (20, in) the known place 22 is no candidate; of (0, in) 13 is the second of two."""
    given, relations = np.array([20, 0]), np.array([0, 0])
    model = model_of(toy, "rotl")
    (block,) = score_candidates(model, given, relations, Candidates(toy), toy.known_answers)
    assert [part.tolist() for part in block.known] == [[1], [1]]


def test_without_candidates_there_is_no_block(toy: Graph) -> None:
    nobody = Candidates(toy, among=np.array([4]))
    given, relations = np.array([0, 0]), np.array([0, 1])
    (block,) = score_candidates(model_of(toy, "rotl"), given, relations, nobody)
    assert block.rows.tolist() == [1]
    nothing = np.empty(0, dtype=np.int64)
    assert list(score_candidates(model_of(toy, "rotl"), nothing, nothing, nobody)) == []


def test_a_foreign_model_is_masked() -> None:
    """It scores all entities by a way of its own: 4 to 8 come before, but have not been seen."""
    graph = Graph(
        "foreign",
        Vocabulary([f"e{i}" for i in range(9)], "entity"),
        Vocabulary(["r"], "relation"),
        train=np.array([(i % 4, 0, (i % 4 + i // 4 + 1) % 4) for i in range(12)]),
        valid=NOTHING,
        test=NOTHING,
    )
    model = Fixed(torch.tensor([[6.0, 1, 2, 3, 9, 8, 7, 5, 4]]))
    ((_, values, entities),) = best_candidates(
        model, np.array([0]), np.array([0]), 6, Candidates(graph)
    )
    assert entities[0, :3].tolist() == [3, 2, 1]
    assert values[0].tolist() == [3, 2, 1, *[-torch.inf] * 3]


def test_a_score_that_is_not_finite_is_refused(toy: Graph) -> None:
    model = model_of(toy, "rotl")
    with torch.no_grad():
        model.entities()[12] = torch.nan
    with pytest.raises(EvaluationError, match="not finite"):
        list(score_candidates(model, np.array([0]), np.array([0]), Candidates(toy)))

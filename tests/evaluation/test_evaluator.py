"""Ranks worked out by hand: ties, filters, directions, and scores that are not finite."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hale.data.graph import SPLITS, Graph, GraphSize, KnownAnswers, Vocabulary
from hale.data.types import Types
from hale.errors import EvaluationError, InputError, UnknownNameError
from hale.evaluation import spans
from hale.evaluation.evaluator import evaluate, evaluate_model, sample_of
from hale.evaluation.metrics import Metrics, Sample
from hale.evaluation.ranks import Ties, filtered_ranks
from hale.models import Model, make_model
from hale.runs.run import Run, Summary
from hale.settings import make_settings
from tests.line_run import line_run


class Fixed(Model):
    """Scores from a table: (queries, candidates), the query is the head."""

    name = "fixed"

    def __init__(self, scores: Tensor) -> None:
        super().__init__(GraphSize(scores.shape[1], 1), 2)
        self.scores = scores

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        raise AssertionError("not needed")

    def score_all(
        self, head: Tensor, relation: Tensor, first: int = 0, last: int | None = None
    ) -> Tensor:
        return self.scores[head, first:last]


def nothing_known() -> KnownAnswers:
    return KnownAnswers(np.empty((0, 3), dtype=np.int64), 1)


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        # scores 5 3 3 3 1; targets: 0 (alone on top), 2 (one above, three alike), 4 (last)
        ("optimistic", [1, 2, 5]),
        ("pessimistic", [1, 4, 5]),
        ("mean", [1, 3, 5]),
    ],
)
def test_ties_by_hand(ties: Ties, expected: list[int]) -> None:
    model = Fixed(torch.tensor([[5.0, 3.0, 3.0, 3.0, 1.0]]))
    triples = np.array([[0, 0, 0], [0, 0, 2], [0, 0, 4]])
    assert filtered_ranks(model, triples, nothing_known(), ties=ties).tolist() == expected


def test_all_alike_is_the_middle_rank() -> None:
    model = Fixed(torch.zeros(1, 9))
    triples = np.array([[0, 0, 3]])
    assert filtered_ranks(model, triples, nothing_known()).tolist() == [5]


def test_known_answers_step_aside() -> None:
    """Known: 0 (above the target), 2 (alike), 4 (below), and the target 1 itself."""
    model = Fixed(torch.tensor([[5.0, 3.0, 3.0, 3.0, 1.0]]))
    known = KnownAnswers(np.array([[0, 0, entity] for entity in (0, 1, 2, 4)]), 1)
    triples = np.array([[0, 0, 1]])
    ranks = {
        ties: filtered_ranks(model, triples, known, ties=ties)[0]
        for ties in ("optimistic", "pessimistic", "mean")
    }
    assert ranks == {"optimistic": 1, "pessimistic": 2, "mean": 1.5}  # left: 1 and 3, alike


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_against_a_plain_count(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))
    rows = data.draw(st.integers(1, 4))
    values = data.draw(st.lists(st.integers(0, 3), min_size=rows * n, max_size=rows * n))
    scores = torch.tensor(values, dtype=torch.float32).reshape(rows, n)
    triples = np.array([[row, 0, data.draw(st.integers(0, n - 1))] for row in range(rows)])
    facts = data.draw(st.lists(st.tuples(st.integers(0, rows - 1), st.integers(0, n - 1))))
    known = KnownAnswers(np.array([[h, 0, t] for h, t in facts]).reshape(-1, 3), 1)
    ranks = filtered_ranks(Fixed(scores), triples, known)
    for (head, _, tail), rank in zip(triples.tolist(), ranks, strict=True):
        rivals = [e for e in range(n) if e != tail and (head, e) not in facts]
        above = sum(scores[head, e] > scores[head, tail] for e in rivals)
        alike = sum(scores[head, e] == scores[head, tail] for e in rivals)
        assert rank == 1 + above + alike / 2


@pytest.fixture
def line() -> Graph:
    """Four points on a line, TransE with a shift of one: worked out by hand below."""
    return Graph(
        "line",
        Vocabulary(["p0", "p1", "p2", "p4"], "entity"),
        Vocabulary(["next", "same"], "relation"),
        train=np.array([[0, 0, 1], [1, 0, 2]]),
        valid=np.array([[2, 0, 3]]),
        test=np.array([[0, 0, 2], [3, 1, 0]]),
    )


def line_model(graph: Graph) -> Model:
    model = make_model("transe", graph.size, 1)
    with torch.no_grad():
        model.entity.weight.copy_(torch.tensor([[0.0], [1.0], [2.0], [4.0]]))
        # next +1, same 0, and their reciprocals -1, 0
        model.shift.weight.copy_(torch.tensor([[1.0], [0.0], [-1.0], [0.0]]))  # type: ignore[union-attr, operator]
    return model


def test_a_tiny_graph_by_hand(line: Graph) -> None:
    report = evaluate_model(line_model(line), line, "test")
    # (p0, next, ?) sits at 1: p1 is known in train and steps aside; p0 and p2 are both 1 away,
    # so the target p2 ties for the first place: rank 1.5.
    # (p4, same, ?) sits at 4: p4 0, p2 2, p1 3, p0 4 away: rank 4.
    assert report.by_direction["tail"].mrr == pytest.approx((1 / 1.5 + 1 / 4) / 2)
    # (?, next, p2) sits at 1: p1 is known and steps aside; p0 (target) and p2 tie: 1.5.
    # (?, same, p0) sits at 0: p0 0, p1 1, p2 2, p4 (target) 4 away: rank 4.
    assert report.by_direction["head"].mean_rank == pytest.approx((1.5 + 4) / 2)
    assert report.overall == Metrics.of(np.array([1.5, 4, 1.5, 4]))
    assert report.by_relation["next"].mean_rank == 1.5
    assert report.by_relation["same"].mean_rank == 4
    assert report.hits == {1: 0.0, 3: 0.5, 10: 1.0}
    flat = report.as_dict()
    assert flat["split"] == "test"
    assert {"mrr", "mean_rank", "hits@1", "hits@3", "hits@10"} <= set(flat)
    optimistic = evaluate_model(line_model(line), line, "test", ties="optimistic")
    assert optimistic.by_relation["next"].mean_rank == 1


def test_metrics_by_hand() -> None:
    metrics = Metrics.of(np.array([1.0, 2.0, 4.0, 20.0]))
    assert metrics.mrr == pytest.approx((1 + 1 / 2 + 1 / 4 + 1 / 20) / 4)
    assert metrics.mean_rank == 6.75
    assert metrics.hits == {1: 0.25, 3: 0.5, 10: 0.75}


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_are_refused(bad: float) -> None:
    scores = torch.zeros(1, 5)
    scores[0, 3] = bad
    with pytest.raises(EvaluationError, match="not finite"):
        filtered_ranks(Fixed(scores), np.array([[0, 0, 1]]), nothing_known())


def test_a_model_of_nan_does_not_rank_first(graph: Graph) -> None:
    model = make_model("rotl", graph.size, 4)
    with torch.no_grad():
        model.entity.weight.fill_(math.nan)
    with pytest.raises(EvaluationError, match="lower learning rate"):
        evaluate_model(model, graph, "test")


def test_huge_but_finite_scores_are_ranked() -> None:
    scores = torch.tensor([[3e38, 3e38, -1.0]])
    assert filtered_ranks(Fixed(scores), np.array([[0, 0, 2]]), nothing_known()).tolist() == [3]


def test_chunks_change_nothing(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, choose_engine: Callable[[str], None]
) -> None:
    torch.manual_seed(0)
    model = make_model("rote", graph.size, 4)
    triples = graph.both_directions(graph.train)
    whole = filtered_ranks(model, triples, graph.known())
    monkeypatch.setattr(spans, "CHUNK_ELEMENTS", 1)  # one query and one entity at a time
    assert np.array_equal(filtered_ranks(model, triples, graph.known()), whole)
    choose_engine("tiles")
    assert np.array_equal(filtered_ranks(model, triples, graph.known()), whole)
    monkeypatch.setattr(spans, "CHUNK_ELEMENTS", 64 * 5)  # five entities, which do not divide 24
    assert np.array_equal(filtered_ranks(model, triples, graph.known()), whole)


def test_faults(graph: Graph, line: Graph) -> None:
    model = line_model(line)
    with pytest.raises(UnknownNameError, match="Did you mean 'valid'"):
        evaluate_model(model, line, "valida")
    with pytest.raises(UnknownNameError, match="rule for ties"):
        evaluate_model(model, line, "test", ties="best")  # type: ignore[arg-type]
    bare = Graph("bare", line.entities, line.relations, line.train, line.test[:0], line.test[:0])
    with pytest.raises(InputError, match="no test triples"):
        evaluate_model(model, bare, "test")


@pytest.mark.parametrize("split", SPLITS)
def test_a_better_answer_steps_aside_whichever_split_knows_it(line: Graph, split: str) -> None:
    """(p0, next, ?) sits at 1: p1 is there, p0 and the target p2 are both 1 away."""
    none, asked = line.test[:0], np.array([[0, 0, 2]])
    splits = {"train": none, "valid": none, "test": asked}
    model = line_model(line)
    alone = evaluate_model(model, replace(line, **splits), "test")
    assert alone.by_direction["tail"].mean_rank == 2.5, "behind p1, beside p0"
    splits[split] = np.concatenate([splits[split], [[0, 0, 1]]])
    report = evaluate_model(model, replace(line, **splits), "test")
    ranks = [1.5, 1.0] if split == "test" else [1.5]  # p1 is asked for too: first, p0 beside none
    assert report.by_direction["tail"] == Metrics.of(np.array(ranks))


def test_a_run_is_evaluated_on_its_test_triples_by_the_mean_of_ties(line: Graph) -> None:
    """The ranks of ``test_a_tiny_graph_by_hand``: 1.5 and 4 in both directions."""
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    run = Run(make_settings(model="transe", dim=1), line, line_model(line), summary)
    report = evaluate(run)
    assert (report.split, report.ties) == ("test", "mean")
    assert report.mean_rank == 2.75
    assert report.mrr == pytest.approx((1 / 1.5 + 1 / 4) / 2)
    assert evaluate(run, ties="pessimistic").overall == Metrics.of(np.array([2, 4, 2, 4]))
    # (p2, next, ?) sits at 3: p2 and the target p4 are both 1 away; (?, next, p4) sits at 3 too
    valid = evaluate(run, "valid")
    assert (valid.split, valid.overall) == ("valid", Metrics.of(np.array([1.5, 1.5])))


def test_a_report_says_how_long_it_took(line: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by 2.5 seconds whenever it is read."""
    clock = itertools.count(10.0, 2.5)
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    assert evaluate_model(line_model(line), line, "test").seconds == 2.5


class Level(Model):
    """All scores 0, except 1 for the first ``ahead`` entities; notes the blocks it is asked for."""

    name = "level"

    def __init__(self, num_entities: int, ahead: int = 0) -> None:
        super().__init__(GraphSize(1, 1), 1)  # it needs no table of them
        self.size = GraphSize(num_entities, 1)
        self.ahead = ahead
        self.asked: list[tuple[int, int]] = []

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        raise AssertionError("not needed")

    def score_all(
        self, head: Tensor, relation: Tensor, first: int = 0, last: int | None = None
    ) -> Tensor:
        end = self.size.num_entities if last is None else last
        self.asked.append((len(head), end - first))
        scores = torch.zeros(len(head), end - first)
        scores[:, : max(0, self.ahead - first)] = 1
        return scores


@pytest.mark.parametrize(
    ("num_entities", "count", "asked"),
    [
        (5, 3, [(3, 5)]),
        (1 << 16, 65, [(64, 1 << 16), (1, 1 << 16)]),
        # once to find the targets, once to count
        ((1 << 16) + 1, 2, [(2, 1 << 16), (2, 1), (2, 1 << 16), (2, 1)]),
    ],
)
def test_no_more_than_16_mb_of_scores_at_once(
    num_entities: int, count: int, asked: list[tuple[int, int]]
) -> None:
    model = Level(num_entities)
    triples = np.zeros((count, 3), dtype=np.int64)
    ranks = filtered_ranks(model, triples, nothing_known(), ties="pessimistic")
    assert ranks.tolist() == [num_entities] * count
    assert model.asked == asked


def test_ranks_are_exact_beyond_the_whole_numbers_of_float32() -> None:
    """2^24 + 1 candidates ahead: float32 would count 2^24 of them."""
    ahead = (1 << 24) + 1
    model = Level(ahead + 2, ahead)
    last = np.array([[0, 0, ahead]])
    for ties, rank in (("optimistic", ahead + 1), ("mean", ahead + 1.5)):
        assert filtered_ranks(model, last, nothing_known(), ties=ties).tolist() == [rank]


def test_a_sample_is_part_of_the_whole_and_says_so(graph: Graph) -> None:
    torch.manual_seed(0)
    model = make_model("rote", graph.size, 4)
    whole = evaluate_model(model, graph, "train")
    assert whole.sample is None
    assert "sample" not in whole.as_dict()
    some = evaluate_model(model, graph, "train", sample=10)
    again = evaluate_model(model, graph, "train", sample=10)
    assert some.overall == again.overall, "always the same"
    assert some.overall.count == 20
    told = some.as_dict()["sample"]
    assert (told["triples"], told["of"]) == (10, len(graph.train))
    assert 0 < told["mrr_standard_error"] < 0.2
    assert evaluate_model(model, graph, "train", sample=len(graph.train)).sample is None


def test_the_standard_error_of_a_sample_by_hand() -> None:
    """Reciprocal ranks 1, .5 and .5, .25 of two triples: means .75 and .375."""
    made = Sample.of_ranks(np.array([1.0, 2.0, 2.0, 4.0]), 9)
    assert made == Sample(2, 9, pytest.approx((0.375**2 / 2) ** 0.5 / 2**0.5))
    assert Sample.of_ranks(np.array([1.0, 2.0]), 9).mrr_standard_error == 0


def test_what_is_ranked_at_the_end_of_a_run_is_bounded(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, facts = make_model("transe", graph.size, 2), len(graph.train)
    assert sample_of(model, facts) is None
    monkeypatch.setattr("hale.evaluation.evaluator.LEAST_SAMPLE", 3)
    monkeypatch.setattr("hale.evaluation.evaluator.PAIRS", 24 * 2 * 7)
    assert sample_of(model, facts) == 7
    slow = make_model("convkb", graph.size, 2)
    monkeypatch.setattr("hale.evaluation.evaluator.PAIRS", 24 * 2 * 5 * slow.comparison)
    assert sample_of(slow, facts) == 5, "a network's comparison takes long"
    monkeypatch.setattr("hale.evaluation.evaluator.PAIRS", 1)
    assert sample_of(model, facts) == 3
    assert sample_of(model, len(graph.test)) == 3


def run_with(graph: Graph, model: Model) -> Run:
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    return Run(make_settings(model="transe", dim=2), graph, model, summary)


def test_ranks_among_a_type_or_a_set_are_told_apart() -> None:
    """Six points, 'next' adds one; the queries sit on their answers, so that every rank is one
    among all, and among a set it is one as well; who is not in it is not asked for.
    """
    line = line_run(6, num_valid=2)
    ordinary = evaluate(line, "valid")
    assert (ordinary.candidates, ordinary.missed) == (None, 0)
    assert "candidates" not in ordinary.as_dict()
    within = evaluate(line, "valid", within=["p1", "p5", "p3"])
    # valid: p0 next p1, p1 next p2, p0 twice p2, p1 twice p3
    assert within.overall.count == 4, "p1 and p3 as tails, p1 twice as a head"
    assert within.candidates == "within a given set (3 entities)"
    assert within.as_dict()["candidates"] == within.candidates
    assert within.by_direction["tail"].count == 2
    assert set(within.by_relation) == {"next", "twice"}
    only_tails = evaluate(line, "valid", within=["p3"])
    assert set(only_tails.by_direction) == {"tail"}
    with pytest.raises(InputError, match="nothing to rank"):
        evaluate(line, "valid", within=["p5"])
    with pytest.raises(InputError, match="sample"):
        evaluate(line, "valid", within=["p1"], sample=2)


def test_typed_ranks_by_hand() -> None:
    """Scores of 0's tails are 6 5 4 3 2 1. Train leads to 1 and 2, of type 'low', as 5 is too;
    0, 3 and 4 are 'high'. So 2 stands second, behind nobody but 1, which is known; and 3 cannot be
    found: it is the last of six.
    """
    graph = Graph(
        "typed",
        Vocabulary([f"e{i}" for i in range(6)], "entity"),
        Vocabulary(["r"], "relation"),
        train=np.array([(0, 0, 1), (3, 0, 2)]),
        valid=np.array([(0, 0, 5)]),
        test=np.array([(0, 0, 2), (0, 0, 3)]),
        types=Types(
            Vocabulary(["high", "low"], "type"), np.arange(6), np.array([0, 1, 1, 0, 0, 1])
        ),
    )
    run = run_with(graph, Fixed(torch.arange(6.0, 0, -1).repeat(6, 1)))
    report = evaluate(run, typed=True)
    # tails: 2 before 5, which is known, rank 1; 3 is missed. Heads, of which 0 is best: 1, 1.
    assert report.by_direction["tail"].mean_rank == (1 + 6) / 2
    assert report.by_direction["head"].mean_rank == 1
    assert report.missed == 1
    assert report.candidates == "of the answers' types"
    assert report.mrr == (1 + 1 / 6 + 1 + 1) / 4
    # among all entities 0 comes before 2, and before 3 as well
    assert evaluate(run).by_direction["tail"].mean_rank == 2
    one = evaluate(run, types="low")
    assert one.overall.count == 1
    assert one.candidates == "of type low (3 entities)"
    by_facts = evaluate(run, typed=True, type_relation="r")
    assert by_facts.candidates == "of the answers' types by r"
    with pytest.raises(InputError, match="goes without a type"):
        evaluate(run, typed=True, types="low")

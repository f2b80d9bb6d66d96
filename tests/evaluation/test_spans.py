"""Scores in blocks: spans of entities, chunks of queries, known answers inside them, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hale.errors import EvaluationError
from hale.evaluation import spans
from hale.evaluation.spans import chunk_size, chunks_of, score_queries, spans_of
from tests.evaluation.test_evaluator import Fixed, Level
from tests.evaluation.test_ranks import HEADS, KNOWN, RELATIONS, TABLE


def test_all_entities_unless_a_span_is_asked_for() -> None:
    (scored,) = score_queries(Fixed(TABLE), HEADS, RELATIONS, KNOWN)
    assert scored.part == slice(0, 2)
    assert torch.equal(scored.scores, TABLE)
    assert [part.tolist() for part in scored.known] == [[0, 0, 0, 0, 1], [0, 1, 3, 4, 2]]
    (bare,) = score_queries(Fixed(TABLE), HEADS, RELATIONS)
    assert [len(part) for part in bare.known] == [0, 0]


def test_a_span_has_its_own_columns() -> None:
    """Entities 1, 2 and 3: of the known answers 1 and 3 are inside, at columns 0 and 2."""
    (scored,) = score_queries(Fixed(TABLE), HEADS, RELATIONS, KNOWN, first=1, last=4)
    assert torch.equal(scored.scores, TABLE[:, 1:4])
    assert [part.tolist() for part in scored.known] == [[0, 0, 1], [0, 2, 1]]
    (rest,) = score_queries(Fixed(TABLE), HEADS, RELATIONS, KNOWN, first=3)
    assert torch.equal(rest.scores, TABLE[:, 3:])
    assert [part.tolist() for part in rest.known] == [[0, 0], [0, 1]]
    (start,) = score_queries(Fixed(TABLE), HEADS, RELATIONS, KNOWN, last=2)
    assert torch.equal(start.scores, TABLE[:, :2])


def test_rows_that_are_held_at_once() -> None:
    """Four million scores, in rows; at least one row, also of nothing."""
    sizes = {width: chunk_size(width) for width in (0, 1, 1000, 1 << 22, 1 << 23)}
    assert sizes == {0: 1 << 22, 1: 1 << 22, 1000: 4194, 1 << 22: 1, 1 << 23: 1}


def test_no_score_that_is_not_finite_gets_through() -> None:
    table = TABLE.clone()
    table[1, 4] = torch.inf
    with pytest.raises(EvaluationError, match="not finite"):
        list(score_queries(Fixed(table), HEADS, RELATIONS))
    (scored,) = score_queries(Fixed(table), HEADS, RELATIONS, last=4)
    assert torch.equal(scored.scores, TABLE[:, :4]), "what is not asked for does not matter"


def test_a_chunk_is_as_wide_as_its_span() -> None:
    """Four entities at the end of four million: all three queries are scored at once."""
    model = Level(1 << 22)
    zeros = np.zeros(3, dtype=np.int64)
    (scored,) = score_queries(model, zeros, zeros, first=(1 << 22) - 4)
    assert model.asked == [(3, 4)]
    assert scored.scores.shape == (3, 4)


def test_a_model_that_scores_all_entities_alone_can_be_ranked() -> None:
    """Another library's, behind two arguments: spans are asked for only where they are wanted."""

    class Foreign(Fixed):
        def score_all(self, head: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            return self.scores[head]

    (scored,) = score_queries(Foreign(TABLE), HEADS, RELATIONS, first=0, last=5)
    assert torch.equal(scored.scores, TABLE)


def test_spans_hold_no_more_numbers_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "CHUNK_ELEMENTS", 1000)
    monkeypatch.setattr(spans, "LEAST_QUERIES", 10)
    assert spans_of(3, 250, 4) == [(3, 103), (103, 203), (203, 250)], "100 x 10 scores"
    assert spans_of(0, 101, 20) == [(0, 50), (50, 100), (100, 101)], "50 x 20 numbers"
    assert spans_of(7, 7, 4) == []


def test_a_query_with_many_answers_has_a_chunk_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four answers to (0, r), one to (1, r): at most five, four or three are held."""
    heads = np.array([1, 0, 1, 1, 1, 0])
    relations = np.zeros_like(heads)

    def sizes(held: int, most: int = 100) -> list[int]:
        monkeypatch.setattr(spans, "CHUNK_ELEMENTS", held)
        parts = list(chunks_of(heads, relations, most, KNOWN))
        assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
        return [part.stop - part.start for part in parts]

    assert sizes(5) == [2, 3, 1]
    assert sizes(4) == [1, 1, 3, 1]
    assert sizes(3) == [1, 1, 3, 1], "at least one query"
    assert sizes(100) == [6]
    assert sizes(100, most=4) == [4, 2]
    assert [part.stop for part in chunks_of(heads, relations, 4)] == [4, 6]


def test_blocks_come_chunk_by_chunk_and_span_by_span(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two entities at a time, which do not divide five, and one query at a time."""
    monkeypatch.setattr(spans, "CHUNK_ELEMENTS", 2)
    monkeypatch.setattr(spans, "LEAST_QUERIES", 1)
    model = Fixed(TABLE)
    model.dim = 1
    model.entity.weight.data = torch.zeros(5, 1)
    found = list(score_queries(model, HEADS, RELATIONS, KNOWN))
    assert [(s.part.start, s.first, s.scores.shape[1]) for s in found] == [
        (query, first, width) for query in (0, 1) for first, width in ((0, 2), (2, 2), (4, 1))
    ]
    for scored in found:
        columns = slice(scored.first, scored.first + scored.scores.shape[1])
        assert torch.equal(scored.scores, TABLE[scored.part, columns])
    known = [
        (scored.part.start, scored.first + column)
        for scored in found
        for column in scored.known[1].tolist()
    ]
    assert known == [(0, 0), (0, 1), (0, 3), (0, 4), (1, 2)]

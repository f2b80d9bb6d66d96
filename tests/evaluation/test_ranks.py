"""The loop over queries and entities: spans of entities, and known answers inside them, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hale.data.graph import KnownAnswers
from hale.errors import EvaluationError
from hale.evaluation.ranks import chunk_size, count_above, score_queries
from tests.evaluation.test_evaluator import Fixed, Level

# Two queries, by their heads; (0, r) is answered by 0, 1, 3 and 4, (1, r) by 2.
TABLE = torch.tensor([[5.0, 3.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
KNOWN = KnownAnswers(np.array([[0, 0, 0], [0, 0, 1], [0, 0, 3], [0, 0, 4], [1, 0, 2]]), 1)
HEADS, RELATIONS = np.array([0, 1]), np.array([0, 0])


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


def test_counts_above_a_target_add_up_over_spans() -> None:
    """To (0, r) 2 scores 3: 1 is alike and known, 0 above and known. To (1, r) 0 scores 1."""
    tails = torch.tensor([2, 0])
    target = TABLE.gather(1, tails[:, None])
    found = []
    for first, last in ((0, 2), (2, 5), (0, 5)):
        (scored,) = score_queries(Fixed(TABLE), HEADS, RELATIONS, KNOWN, first=first, last=last)
        found.append([part.tolist() for part in count_above(scored, target, tails - first)])
    # by query, above and at or above; 2 is known to (1, r) and leaves 1, 3 and 4 above 0
    assert found[2] == [[0, 3], [1, 4]]
    assert found[0] == [[0, 1], [0, 2]]
    assert found[1] == [[0, 2], [1, 2]]


def test_a_target_that_is_known_is_counted_itself() -> None:
    """To (0, r) 3 scores 2: 0 and 1 are known, 2 is above, and 3 itself is known too."""
    (scored,) = score_queries(Fixed(TABLE), HEADS[:1], RELATIONS[:1], KNOWN)
    higher, no_lower = count_above(scored, torch.tensor([[2.0]]), torch.tensor([3]))
    assert (higher.tolist(), no_lower.tolist()) == ([1], [2])


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
    assert model.asked == [3]
    assert scored.scores.shape == (3, 4)


def test_a_model_that_scores_all_entities_alone_can_be_ranked() -> None:
    """Another library's, behind two arguments: spans are asked for only where they are wanted."""

    class Foreign(Fixed):
        def score_all(self, head: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            return self.scores[head]

    (scored,) = score_queries(Foreign(TABLE), HEADS, RELATIONS, first=0, last=5)
    assert torch.equal(scored.scores, TABLE)

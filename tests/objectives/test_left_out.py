"""Pairs that are left out of sums, by hand."""

from __future__ import annotations

import numpy as np
import torch

from hale.data.graph import KnownAnswers
from hale.objectives.left_out import known_pairs

# (0, r) is answered by 0, 1 and 2, which is all there is; (1, r) by 2.
KNOWN = KnownAnswers(np.array([[0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 2]]), num_relations=1)


def pairs(batch: list[list[int]], num_entities: int, **options: object) -> list[tuple[int, int]]:
    found = known_pairs(KNOWN, torch.tensor(batch), num_entities, **options)
    return list(zip(*(part.tolist() for part in found), strict=True))


def test_known_answers_of_each_query() -> None:
    batch = [[1, 0, 2], [0, 0, 1], [2, 0, 0]]
    assert pairs(batch, 4) == [(0, 2), (1, 0), (1, 1), (1, 2)]


def test_a_query_that_all_entities_answer_keeps_them() -> None:
    batch = [[1, 0, 2], [0, 0, 1]]
    assert pairs(batch, 3) == [(0, 2)]
    assert pairs([[0, 0, 1]], 3) == []


def test_a_tail_stays_in_its_own_sum() -> None:
    batch = [[1, 0, 2], [0, 0, 1], [0, 0, 2]]
    assert pairs(batch, 3, keep_tail=True) == [(1, 0), (1, 2), (2, 0), (2, 1)]


def test_heads_that_are_ruled_out_join_each_once() -> None:
    batch = [[1, 0, 2], [0, 0, 1], [2, 0, 0]]
    ruled_out = torch.tensor([True, True, False])
    assert pairs(batch, 4, ruled_out=ruled_out) == [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


def test_no_queries_have_no_pairs() -> None:
    found = known_pairs(KNOWN, torch.empty(0, 3, dtype=torch.long), 3)
    assert [len(part) for part in found] == [0, 0]

"""Pairs that are left out of sums, by hand."""

from __future__ import annotations

import numpy as np
import torch

from hale.data.graph import KnownAnswers
from hale.engine.blocks import Block
from hale.objectives.left_out import left_out

# (0, r) is answered by 0, 1 and 2, which is all there is; (1, r) by 2.
KNOWN = KnownAnswers(np.array([[0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 2]]), num_relations=1)


def pairs(batch: list[list[int]], num_entities: int, **options: object) -> list[tuple[int, int]]:
    found = left_out(torch.tensor(batch), num_entities, known=KNOWN, **options)
    assert found.counts.tolist() == [
        sum(row == i for row in found.rows.tolist()) for i in range(len(batch))
    ]
    return list(zip(found.rows.tolist(), found.columns.tolist(), strict=True))


def test_known_answers_of_each_query() -> None:
    batch = [[1, 0, 2], [0, 0, 1], [2, 0, 0]]
    assert pairs(batch, 4) == [(0, 2), (1, 0), (1, 1), (1, 2)]


def test_a_query_that_all_entities_answer_keeps_them() -> None:
    batch = [[1, 0, 2], [0, 0, 1]]
    assert pairs(batch, 3) == [(0, 2)]
    assert pairs([[0, 0, 1]], 3) == []


def test_a_tail_stays_in_its_own_sum() -> None:
    batch = [[1, 0, 2], [0, 0, 1], [0, 0, 2]]
    assert pairs(batch, 3, tails=False) == [(1, 0), (1, 2), (2, 0), (2, 1)]


def test_heads_that_are_ruled_out_join_each_once() -> None:
    batch = [[1, 0, 2], [0, 0, 1], [2, 0, 0]]
    ruled_out = torch.tensor([True, True, False])
    assert pairs(batch, 4, ruled_out=ruled_out) == [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


def test_no_queries_have_no_pairs() -> None:
    found = left_out(torch.empty(0, 3, dtype=torch.long), 3, known=KNOWN)
    assert [len(part) for part in found] == [0, 0, 0]


def test_a_tail_may_be_left_out_whether_it_is_known_or_not() -> None:
    batch = torch.tensor([[1, 0, 2], [1, 0, 3], [2, 0, 2]])
    found = left_out(batch, 5, known=KNOWN, tails=True, keep=None)
    assert list(zip(found.rows, found.columns, strict=True)) == [(0, 2), (1, 2), (1, 3), (2, 2)]
    assert found.counts.tolist() == [1, 2, 1]
    # the head of the third is its tail, and is left out once
    found = left_out(batch, 5, tails=True, ruled_out=torch.ones(3, dtype=torch.bool), keep=None)
    assert list(zip(found.rows, found.columns, strict=True)) == [
        *((0, 1), (0, 2), (1, 1), (1, 3)),
        (2, 2),
    ]


def test_of_a_block_columns_are_places_and_counts_are_of_all() -> None:
    block = Block(torch.tensor([0, 2, 5]), 6)
    batch = torch.tensor([[0, 0, 4], [1, 0, 2], [5, 0, 0]])
    found = left_out(
        batch, 6, known=KNOWN, ruled_out=torch.tensor([False, True, True]), block=block
    )
    # (0, r): 0, 1, 2 of which 1 is not in the block; (1, r): 2, and the head 1; (5, r): the head
    assert list(zip(found.rows, found.columns, strict=True)) == [(0, 0), (0, 1), (1, 1), (2, 2)]
    assert found.counts.tolist() == [3, 2, 1]


def test_a_query_whose_whole_block_is_known_keeps_it_if_it_must() -> None:
    block = Block(torch.tensor([1, 2]), 6)
    batch = torch.tensor([[0, 0, 0], [1, 0, 0]])
    found = left_out(batch, 6, known=KNOWN, block=block)
    assert list(zip(found.rows, found.columns, strict=True)) == [(1, 1)]
    assert found.counts.tolist() == [0, 1]
    found = left_out(batch, 6, known=KNOWN, block=block, keep="entity")
    assert list(zip(found.rows, found.columns, strict=True)) == [(0, 0), (0, 1), (1, 1)]
    assert found.counts.tolist() == [3, 1]
    found = left_out(batch, 3, known=KNOWN, block=Block(torch.tensor([1, 2]), 3), keep="entity")
    assert found.counts.tolist() == [0, 1]

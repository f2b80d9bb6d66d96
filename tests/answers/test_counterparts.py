"""CSLS against plain scalars."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from hale.answers import counterparts
from hale.answers.counterparts import Nearest, Spaces, mutual


def cosine(x: list[float], y: list[float]) -> float:
    return sum(a * b for a, b in zip(x, y, strict=True)) / math.hypot(*x) / math.hypot(*y)


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> tuple[torch.Tensor, torch.Tensor]:
    monkeypatch.setattr(counterparts, "NEAREST", 3)
    monkeypatch.setattr(counterparts, "CHUNK_ELEMENTS", 40)  # a few columns at a time
    made = torch.Generator().manual_seed(0)
    return torch.randn(7, 4, generator=made), torch.randn(11, 4, generator=made)


def expected(ours: torch.Tensor, theirs: torch.Tensor) -> list[list[float]]:
    table = [[cosine(x, y) for y in theirs.tolist()] for x in ours.tolist()]
    rows = [sum(sorted(row)[-3:]) / 3 for row in table]
    columns = [sum(sorted(row[j] for row in table)[-3:]) / 3 for j in range(len(theirs))]
    return [
        [2 * table[i][j] - rows[i] - columns[j] for j in range(len(theirs))]
        for i in range(len(ours))
    ]


@pytest.mark.parametrize("of_right", [False, True])
def test_the_nearest_by_csls(sides: tuple[torch.Tensor, torch.Tensor], of_right: bool) -> None:
    spaces = Spaces(*sides)
    ours, theirs = sides[::-1] if of_right else sides
    table = expected(ours, theirs)
    found = spaces.nearest(4, of_right=of_right)
    for row, places, scores in zip(table, found.places, found.scores, strict=True):
        order = sorted(range(len(row)), key=lambda j: -row[j])[:4]
        assert places.tolist() == order
        assert scores.tolist() == pytest.approx([row[j] for j in order], abs=1e-5)


@pytest.mark.parametrize("of_right", [False, True])
def test_ranks_count_who_is_nearer(
    sides: tuple[torch.Tensor, torch.Tensor], of_right: bool
) -> None:
    spaces = Spaces(*sides)
    table = expected(*(sides[::-1] if of_right else sides))
    rows, targets = np.array([0, 3, 5, 5]), np.array([2, 0, 1, 6])
    ranks = spaces.ranks(rows, targets, of_right=of_right)
    told = [
        1 + sum(value > table[i][j] for value in table[i])
        for i, j in zip(rows.tolist(), targets.tolist(), strict=True)
    ]
    assert ranks.tolist() == told


def test_equal_scores_share_their_ranks() -> None:
    spaces = Spaces(torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0], [1.0, 0.0]]))
    assert spaces.ranks(np.array([0]), np.array([1])).tolist() == [1.5]


def test_pairs_are_mutual_and_their_margin_is_over_both_seconds() -> None:
    left = Nearest(np.array([[1, 0], [1, 2], [0, 2]]), np.array([[0.9, 0.2], [0.5, 0.1], [0.4, 0]]))
    right = Nearest(
        np.array([[2, 1], [0, 1], [1, 2]]), np.array([[0.4, 0.3], [0.9, 0.5], [0.1, 0.0]])
    )
    ours, theirs, margins = mutual(left, right)
    assert list(zip(ours.tolist(), theirs.tolist(), strict=True)) == [(0, 1), (2, 0)]
    assert margins.tolist() == pytest.approx([0.9 - 0.5, 0.4 - 0.3])  # 1 wants 1, who wants 0

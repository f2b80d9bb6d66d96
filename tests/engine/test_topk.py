"""The best of each row, against plain torch.topk and by hand."""

from __future__ import annotations

import pytest
import torch

from hale.engine.group import Group
from hale.engine.topk import STRIPS, merged, merged_over, top
from tests.ranks import Ranks


@pytest.mark.parametrize("count", [1, STRIPS, 1000, 2048, 4099])
@pytest.mark.parametrize("k", [1, 3, 31, 5000])
def test_same_as_plain_topk(count: int, k: int) -> None:
    scores = torch.randn(7, count, generator=torch.Generator().manual_seed(count + k))
    values, places = top(scores, k)
    assert torch.equal(values, scores.topk(min(k, count)).values)
    assert torch.equal(scores.gather(1, places), values)
    assert all(len(set(row.tolist())) == min(k, count) for row in places)


def test_the_best_may_share_a_column_or_stand_in_the_rest() -> None:
    length = 100
    scores = torch.arange(STRIPS * length + 5).neg().float()[None]  # falls: strip 0 holds the best
    for place, value in ((7, 50.0), (7 + length, 40.0), (7 + 9 * length, 30.0)):
        scores[0, place] = value
    scores[0, STRIPS * length + 4] = 35.0  # beyond the last whole strip
    values, places = top(scores, 4)
    assert values.tolist() == [[50, 40, 35, 30]]
    assert places.tolist() == [[7, 107, STRIPS * length + 4, 907]]


def test_equal_scores_are_counted_once_each() -> None:
    scores = torch.zeros(2, 3000)
    scores[1, 1234] = 1
    values, places = top(scores, 5)
    assert values.tolist() == [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]
    assert places[1, 0] == 1234
    assert all(len(set(row.tolist())) == 5 for row in places)


@pytest.mark.parametrize("place", [0, 1500, 2999])
def test_nan_comes_first(place: int) -> None:
    scores = torch.zeros(1, 3000)
    scores[0, place] = torch.nan
    values, places = top(scores, 2)
    assert values[0, 0].isnan()
    assert places[0, 0] == place


@pytest.mark.parametrize("k", [1, 3, 50])
def test_the_best_of_spans_are_the_best_of_all(k: int) -> None:
    scores = torch.randn(4, 103, generator=torch.Generator().manual_seed(k))
    best = None
    for first in range(0, 103, 10):
        values, places = top(scores[:, first : first + 10], k)
        best = merged(best, (values, places + first), k)
    assert best is not None
    expected = scores.topk(k)
    assert torch.equal(best[0], expected.values)
    assert torch.equal(best[1], expected.indices)


@pytest.mark.parametrize("count", [5, 40, 700, 3000, 4099])
@pytest.mark.parametrize("k", [1, 3, 17])
def test_equal_scores_come_by_their_places(count: int, k: int) -> None:
    """Against a stable sort of whole rows, with few values, so that most are equal."""
    draws = torch.Generator().manual_seed(count + k)
    scores = torch.randint(3, (9, count), generator=draws).float()
    scores[4] = 0.0
    scores[5, ::2] = -torch.inf
    expected = scores.sort(dim=1, descending=True, stable=True)
    values, places = top(scores, k)
    assert torch.equal(values, expected.values[:, :k])
    assert torch.equal(places, expected.indices[:, :k])
    best = None
    for first in range(0, count, 7):
        part = scores[:, first : first + 7]
        values, places = top(part, k)
        best = merged(best, (values, places + first), k)
    assert best is not None
    assert torch.equal(best[1], expected.indices[:, :k])


def spread(group: Group, scores: torch.Tensor, cuts: list[int], k: int) -> list[torch.Tensor]:
    first, last = cuts[group.rank : group.rank + 2]
    values, places = top(scores[:, first:last], k)
    return list(merged_over(group, (values, places + first), k))


@pytest.mark.parametrize("cuts", [[0, 30], [0, 11, 30], [0, 2, 2, 30]])
def test_the_best_of_all_ranks(ranks: Ranks, cuts: list[int]) -> None:
    """A rank may have fewer than are asked for, or none."""
    scores = torch.randint(4, (5, 30), generator=torch.Generator().manual_seed(1)).float()
    expected = scores.sort(dim=1, descending=True, stable=True)
    for values, places in ranks(len(cuts) - 1, spread, scores, cuts, 8):
        assert torch.equal(values, expected.values[:, :8])
        assert torch.equal(places, expected.indices[:, :8])

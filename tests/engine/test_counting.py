"""Counts above thresholds: every build of the kernel against plain torch and plain loops."""

from __future__ import annotations

import pytest
import torch

from hale.engine.counting import (
    Comparison,
    Marked,
    count_above,
    plain_count_above,
    plain_score_pairs,
    score_pairs,
)

SIZES = [(1, 1), (3, 119), (16, 120), (17, 121), (65, 250), (130, 7)]  # queries, entities


def whole_numbers(m: int, n: int, d: int, *, by_distance: bool, biases: bool) -> Comparison:
    """Small whole numbers: sums are exact in any order, and many scores are equal."""
    draws = torch.Generator().manual_seed(m * n * d)

    def numbers(*shape: int) -> torch.Tensor:
        return torch.randint(-2, 3, shape, generator=draws).float()

    return Comparison(
        numbers(m, d),
        numbers(n, d),
        by_distance,
        own=numbers(m) if biases else None,
        biases=numbers(n) if biases else None,
    )


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("by_distance", [True, False])
@pytest.mark.parametrize("d", range(1, 41))
def test_counts_by_plain_torch(engine: str, d: int, by_distance: bool, biases: bool) -> None:
    for m, n in SIZES:
        compared = whole_numbers(m, n, d, by_distance=by_distance, biases=biases)
        rows, columns = torch.arange(m), torch.arange(m) % n
        thresholds = score_pairs(compared, rows, columns)
        assert torch.equal(thresholds, plain_score_pairs(compared, rows, columns))
        found, expected = count_above(compared, thresholds), plain_count_above(compared, thresholds)
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("by_distance", [True, False])
def test_counts_by_plain_loops(engine: str, by_distance: bool) -> None:
    compared = whole_numbers(5, 123, 3, by_distance=by_distance, biases=True)
    assert compared.own is not None
    assert compared.biases is not None
    thresholds = torch.tensor([0.0, -3.0, 2.0, -40.0, 40.0])
    higher, no_lower, finite = count_above(compared, thresholds)
    for i, limit in enumerate(thresholds.tolist()):
        scores = []
        for j in range(123):
            pairs = zip(compared.queries[i].tolist(), compared.entities[j].tolist(), strict=True)
            if by_distance:
                met = -sum((q - e) ** 2 for q, e in pairs)
            else:
                met = sum(q * e for q, e in pairs)
            scores.append(met + compared.own[i].item() + compared.biases[j].item())
        assert higher[i] == sum(score > limit for score in scores)
        assert no_lower[i] == sum(score >= limit for score in scores)
    assert finite.tolist() == [True] * 5
    assert (no_lower > higher).any(), "some are equal"


@pytest.mark.parametrize("d", [1, 7, 8, 15, 16, 17, 32, 33, 40, 300])
@pytest.mark.parametrize("by_distance", [True, False])
def test_a_target_equals_itself_and_its_copies(engine: str, d: int, by_distance: bool) -> None:
    """With numbers that are rounded: every entity stands at four places, of every kind of block."""
    draws = torch.Generator().manual_seed(d)
    some = torch.randn(61, d, generator=draws)
    compared = Comparison(torch.randn(77, d, generator=draws), some.repeat(4, 1), by_distance)
    rows = torch.arange(77).repeat_interleave(4)
    targets = torch.randint(61, (77,), generator=draws)
    places = (targets[:, None] + 61 * torch.arange(4)).flatten()
    scores = score_pairs(compared, rows, places).view(77, 4)
    if engine != "tiles":  # whose products may be rounded differently at the edges of a table
        assert torch.equal(scores, scores[:, :1].expand(-1, 4))
        higher, no_lower, _ = count_above(compared, scores[:, 0])
        assert (no_lower - higher).tolist() == [4] * 77
        assert (higher % 4).tolist() == [0] * 77
    exact = Comparison(compared.queries.double(), compared.entities.double(), by_distance)
    expected = plain_score_pairs(exact, rows, places).view(77, 4)
    assert torch.allclose(scores.double(), expected, atol=1e-5 * d)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_threads_change_nothing(engine: str, threads: int) -> None:
    draws = torch.Generator().manual_seed(5)
    compared = Comparison(
        torch.randn(20, 6, generator=draws), torch.randn(1000, 6, generator=draws), True
    )
    thresholds = score_pairs(compared, torch.arange(20), torch.arange(20))
    before, expected = torch.get_num_threads(), plain_count_above(compared, thresholds)
    torch.set_num_threads(threads)
    try:
        again = score_pairs(compared, torch.arange(20), torch.arange(20))
        found = count_above(compared, thresholds)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(again, thresholds)
    close = [abs(a - b) <= 1 for a, b in zip(found[0].tolist(), expected[0].tolist(), strict=True)]
    assert all(close)
    assert torch.equal(found[1], found[0] + 1), "itself"


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("place", [0, 119, 120, 129])
def test_a_score_that_is_not_finite_is_told(engine: str, bad: float, place: int) -> None:
    compared = whole_numbers(19, 130, 5, by_distance=False, biases=False)
    compared.queries[3] = 0
    compared.queries[:3] = 1
    compared.entities[place, 4] = bad
    finite = count_above(compared, torch.zeros(19))[2]
    expected = plain_count_above(compared, torch.zeros(19))[2]
    assert torch.equal(finite, expected)
    assert not finite.any()
    compared.entities[place, 4] = 0
    compared.queries[7, 0] = bad
    assert count_above(compared, torch.zeros(19))[2].tolist() == [i != 7 for i in range(19)]


def test_nothing_to_count(engine: str) -> None:
    compared = Comparison(torch.ones(3, 2), torch.ones(0, 2), True)
    higher, no_lower, finite = count_above(compared, torch.zeros(3))
    assert higher.tolist() == no_lower.tolist() == [0, 0, 0]
    assert finite.tolist() == [True] * 3
    assert not len(score_pairs(compared, torch.empty(0).long(), torch.empty(0).long()))


def test_pairs_outside_the_table_are_refused(engine: str) -> None:
    compared = Comparison(torch.ones(3, 2), torch.ones(4, 2), True)
    with pytest.raises(IndexError):
        score_pairs(compared, torch.tensor([0]), torch.tensor([4]))
    with pytest.raises(IndexError):
        score_pairs(compared, torch.tensor([3]), torch.tensor([0]))


def test_rows_that_do_not_lie_together_go_by_torch(engine: str) -> None:
    table = torch.arange(12.0).view(4, 3)
    compared = Comparison(torch.zeros(1, 2), table[:, :2], True)
    assert not compared.fits()
    assert count_above(compared, torch.tensor([-25.0]))[0].tolist() == [1]
    assert Comparison(torch.zeros(1, 2), table[:, :2].contiguous(), True).fits() == (
        engine != "tiles"
    )


@pytest.mark.parametrize("by_distance", [True, False])
def test_marked_entities_meet_their_own_threshold(engine: str, by_distance: bool) -> None:
    for m, n in SIZES:
        compared = whole_numbers(m, n, 5, by_distance=by_distance, biases=True)
        draws = torch.Generator().manual_seed(n)
        marks = torch.randint(0, 2, (n,), generator=draws).bool()
        limits = torch.randint(-9, 9, (2, m), generator=draws).float()
        limits[1, 0] = torch.inf
        found = count_above(compared, limits[0], Marked(marks, limits[1]))
        expected = plain_count_above(compared, limits[0], Marked(marks, limits[1]))
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
        scores = plain_score_pairs(compared, torch.zeros(n, dtype=torch.long), torch.arange(n))
        above = sum(
            s > (limits[1, 0] if taken else limits[0, 0]).item()
            for s, taken in zip(scores.tolist(), marks.tolist(), strict=True)
        )
        assert found[0][0] == above

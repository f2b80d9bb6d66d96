"""Intervals and paired tests, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from hale.lab.paper.significance import FLIPS, by_triple, holm, interval, paired


def test_a_triple_has_the_mean_of_its_directions_and_seeds() -> None:
    """Ranks of tails 1 and 2, of heads 4 and 1; another seed has 2, 2 and 2, 2."""
    found = by_triple([np.array([1.0, 2, 4, 1]), np.array([2.0, 2, 2, 2])])
    assert found.tolist() == [(1 + 1 / 4 + 1) / 4, (1 / 2 + 1 + 1) / 4]


def test_an_interval_is_that_of_a_mean() -> None:
    """Of n values 1.96 standard errors either way, which a bootstrap of 1000 draws comes near."""
    values = np.random.default_rng(1).random(4000)
    low, high = interval(values)
    error = values.std() / np.sqrt(len(values))
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.2 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.2 * error)
    assert interval(np.full(7, 0.25)) == (0.25, 0.25)


def test_a_gain_on_all_triples_tells() -> None:
    other = np.random.default_rng(2).random(300)
    found = paired(other + 0.01, other)
    assert found.gain == pytest.approx(0.01)
    assert found.p == 1 / (1 + FLIPS)
    assert found.tells
    assert paired(other, other + 0.01).gain == pytest.approx(-0.01)


def test_no_difference_does_not_tell() -> None:
    one = np.random.default_rng(3).random(300)
    assert paired(one, one).p == 1.0
    assert not paired(one, one[::-1]).tells


def test_p_by_all_flips_of_few_triples() -> None:
    """Of three differences 1, 1 and 1 two of eight flips are as far from 0: all or none turned."""
    found = paired(np.ones(3), np.zeros(3))
    assert found.p == pytest.approx(2 / 8, abs=0.03)


def test_holms_correction() -> None:
    """Of three: .01 x 3, then .02 x 2, then .04 x 1; none below one before it, none above 1."""
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.01, 0.9, 0.8]) == pytest.approx([0.03, 1.0, 1.0])
    assert holm([0.004]) == [0.004]
    assert holm([]) == []

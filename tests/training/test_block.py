"""From the block that is asked for to the blocks of a run."""

from __future__ import annotations

import pytest

from hale.errors import HaleWarning, SettingsError
from hale.runs.systems import check, complete
from hale.settings import make_settings
from hale.training.block import blocks_of


@pytest.mark.parametrize(
    ("asked", "size"), [("4096", 4096), (4096, 4096), ("0.1", 1000), (0.33337, 3334), ("1e4", None)]
)
def test_numbers_and_shares(asked: object, size: int | None) -> None:
    found = blocks_of(make_settings(block=asked, gamma=4.0), 10_000)
    assert (None if found is None else found.size) == size


@pytest.mark.parametrize("asked", ["all", "ALL ", None])
def test_all_is_no_block(asked: str | None) -> None:
    assert blocks_of(make_settings(block=asked), 10_000) is None


def test_a_share_of_a_small_graph_has_at_least_one_entity() -> None:
    assert make_settings(block=0.01).block_size(20) == 1
    assert make_settings(block=50).block_size(20) == 20
    assert make_settings().block_size(20) == 20


def test_more_than_there_are_is_all_and_said() -> None:
    with pytest.warns(HaleWarning, match="the graph has 50 entities, so all are taken") as told:
        assert blocks_of(make_settings(block=51), 50) is None
    assert len(told) == 1
    assert blocks_of(make_settings(block=50), 50) is None, "as many are all, which is no surprise"


def test_too_few_for_the_bound_are_warned_of_with_the_number_that_would_do() -> None:
    """sinh(3)^2 = 100.36, of ten thousand a little less."""
    with pytest.warns(HaleWarning, match=r"with 99 entities and a bound of 6 .*; take 100 or more"):
        assert blocks_of(make_settings(block=99, gamma=6.0), 10_000) is not None
    assert blocks_of(make_settings(block=100, gamma=6.0), 10_000) is not None
    with pytest.warns(HaleWarning, match="a bound of 8"):  # the largest of the run's
        blocks_of(make_settings(block=400, gamma=6.0, gamma_two_way=8.0), 10_000)
    with pytest.warns(HaleWarning, match="a bound of 9"):
        blocks_of(make_settings(block=400, gamma=6.0, gamma_start=9.0), 10_000)
    assert blocks_of(make_settings(block=2, activation="identity"), 10_000) is not None


def test_strategies_without_such_sums_have_none() -> None:
    with pytest.raises(SettingsError, match="block: not for samneg, only for hale and allneg"):
        complete(strategy="samneg", block=100)
    check(complete(strategy="allneg", block=100))
    assert blocks_of(complete(strategy="samneg"), 1000) is None


@pytest.mark.parametrize("bad", ["0", "-3", "1.5", "many", "nan", True])
def test_what_is_no_block_is_told(bad: object) -> None:
    with pytest.raises(SettingsError, match="a block is a number of entities, a share"):
        make_settings(block=bad)

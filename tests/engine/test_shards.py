from __future__ import annotations

import numpy as np
import pytest

from hale.engine.shards import SHARDS, Shards, Span
from hale.errors import InputError


@pytest.mark.parametrize("num_rows", [1, 5, 64, 1000, 40_943])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_every_row_has_one_owner_and_shards_stay_whole(num_rows: int, size: int) -> None:
    shards = Shards(num_rows, size)
    owners = shards.owners(np.arange(num_rows))
    for rank in range(size):
        span, begins = shards.span(rank), shards.begins_of(rank)
        assert list(span) == [begins[0], begins[-1]]
        np.testing.assert_array_equal(np.flatnonzero(owners == rank), np.arange(*span))
        assert set(begins) <= set(Shards(num_rows, 1).begins.tolist())
    assert sum(len(shards.begins_of(rank)) - 1 for rank in range(size)) == SHARDS


def test_the_cut_by_hand() -> None:
    shards = Shards(128, 3)  # two rows a shard; ranks have 21, 21 and 22 shards
    assert [shards.span(rank) for rank in range(3)] == [Span(0, 42), Span(42, 84), Span(84, 128)]
    assert shards.owners(np.array([0, 41, 42, 127])).tolist() == [0, 0, 1, 2]
    assert Span(2, 4).holds(np.arange(6)).tolist() == [False, False, True, True, False, False]
    assert len(Span(2, 4)) == 2


@pytest.mark.parametrize("size", [0, 65])
def test_a_group_of_none_or_too_many_is_refused(size: int) -> None:
    with pytest.raises(InputError, match="1 to 64 ranks"):
        Shards(100, size)

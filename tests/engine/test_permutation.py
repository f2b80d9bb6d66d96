"""A permutation computed number by number: every number once, by both engines alike."""

from __future__ import annotations

import numpy as np
import pytest

from hale.engine import permutation
from hale.engine.randomness import Stream

pytestmark = pytest.mark.usefixtures("engine")


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 65, 1000])
def test_a_permutation_has_every_place_once(count: int) -> None:
    for turn in range(3):
        found = permutation.permuted(
            np.arange(count), count, permutation.round_keys(4, Stream.BLOCK, turn)
        )
        assert sorted(found.tolist()) == list(range(count))


@pytest.mark.parametrize("count", [1, 2, 1000, 65_537, 10_000_000, 4_000_000_000])
def test_a_part_is_what_stands_there(count: int) -> None:
    """Against the numbers themselves, in numpy, whichever engine runs."""
    size, start = max(1, min(777, count // 3)), count // 2
    keys = permutation.round_keys(9, Stream.SHUFFLE, 2)
    found = permutation.part_of(count, start, size, keys)
    assert found.tolist() == sorted(
        permutation.permuted(np.arange(start, start + size), count, keys)
    )


def test_streams_and_turns_have_their_own() -> None:
    keys = {
        tuple(permutation.round_keys(seed, stream, turn).tolist())
        for seed in (0, 1)
        for stream in (Stream.BLOCK, Stream.SHUFFLE)
        for turn in (0, 1)
    }
    assert len(keys) == 8

"""Blocks: a permutation walked in parts, and where entities stand in one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hale.engine import library as kernel
from hale.engine.blocks import Block, Blocks
from hale.errors import InputError

pytestmark = pytest.mark.usefixtures("engine")


def test_a_pass_has_every_entity_once() -> None:
    made = Blocks(103, 10, seed=1)
    ids = torch.cat([made.at(step).ids for step in range(10)])
    assert len(ids.unique()) == len(ids) == 100, "three sit it out"
    again = torch.cat([made.at(step).ids for step in range(10, 20)])
    assert len(again.unique()) == 100
    assert set(ids.tolist()) != set(again.tolist())


def test_ids_ascend_and_depend_on_seed_and_step() -> None:
    made = Blocks(5000, 700, seed=1)
    ids = made.at(3).ids
    assert ids.tolist() == sorted(ids.tolist())
    assert torch.equal(ids, Blocks(5000, 700, seed=1).at(3).ids)
    assert not torch.equal(ids, made.at(4).ids)
    assert not torch.equal(ids, Blocks(5000, 700, seed=2).at(3).ids)


@pytest.mark.parametrize("count", [1, 2, 1000, 65_537, 10_000_000])
def test_both_engines_draw_the_same(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    size = max(1, min(999, count // 3))
    found = [Blocks(count, size, seed=9).at(step).ids for step in (0, 1, 7)]
    monkeypatch.setenv("HALE_ENGINE", "tiles")
    kernel.look_again()
    plain = [Blocks(count, size, seed=9).at(step).ids for step in (0, 1, 7)]
    assert all(torch.equal(one, other) for one, other in zip(found, plain, strict=True))


def test_each_entity_is_in_its_share_of_blocks() -> None:
    """5 of 20 over 4,000 passes: each entity in a quarter of the blocks, to four deviations."""
    made = Blocks(20, 5, seed=0)
    met = np.zeros(20)
    for turn in range(4000):
        met[made.at(4 * turn).ids.numpy()] += 1
    assert np.abs(met / 4000 - 0.25).max() < 4 * (0.25 * 0.75 / 4000) ** 0.5


def test_pairs_of_entities_meet_as_they_should() -> None:
    """Two of 20 are in a block of 5 with probability 5/20 * 4/19, whichever two."""
    made = Blocks(20, 5, seed=3)
    met = np.zeros((20, 20))
    for turn in range(4000):
        ids = made.at(4 * turn).ids.numpy()
        met[np.ix_(ids, ids)] += 1
    share = met[np.triu_indices(20, 1)] / 4000
    expected = 5 / 20 * 4 / 19
    assert np.abs(share - expected).max() < 5 * (expected * (1 - expected) / 4000) ** 0.5


def test_places() -> None:
    block = Block(torch.tensor([2, 3, 11, 40]), 50)
    assert block.places(np.array([3, 0, 40, 11, 11, 49, 2])).tolist() == [1, -1, 3, 2, 2, -1, 0]
    assert block.places(np.empty(0, dtype=np.int64)).tolist() == []
    assert block.ratio == 12.5


def test_places_of_many() -> None:
    block = Blocks(30_000, 4000, seed=2).at(0)
    wanted = np.random.default_rng(0).integers(0, 30_000, 5000)
    place = {entity: i for i, entity in enumerate(block.ids.tolist())}
    assert block.places(wanted).tolist() == [place.get(int(one), -1) for one in wanted]


@pytest.mark.parametrize("size", [0, 11])
def test_a_block_that_cannot_be_is_refused(size: int) -> None:
    with pytest.raises(InputError, match="1 to N entities"):
        Blocks(10, size, seed=0)

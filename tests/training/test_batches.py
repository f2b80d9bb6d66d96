"""Batches: every triple once an epoch, by the step alone, and mixtures of two kinds."""

from __future__ import annotations

import numpy as np
import torch

from hale.data.keys import Ids
from hale.engine.randomness import Stream
from hale.training.batches import Mixed, Shuffled


def numbered(start: int, stop: int) -> Ids:
    return np.repeat(np.arange(start, stop)[:, None], 3, axis=1)


def test_an_epoch_holds_every_triple_once() -> None:
    batches = Shuffled(numbered(0, 10), 4, seed=1)
    assert batches.steps_per_epoch == 3
    epochs = [
        [batches.at(3 * epoch + step)[:, 0].tolist() for step in range(3)] for epoch in range(2)
    ]
    assert [len(batch) for batch in epochs[0]] == [4, 4, 2]
    assert [sorted(n for batch in epoch for n in batch) for epoch in epochs] == [
        list(range(10))
    ] * 2
    assert epochs[0] != epochs[1]


def test_both_directions_come_from_one() -> None:
    triples = np.array([[0, 0, 1], [2, 1, 3], [4, 0, 5]])
    batches = Shuffled(triples, 4, seed=1, relations=2)
    assert batches.steps_per_epoch == 2
    seen = sorted(row for step in range(2) for row in batches.at(step).tolist())
    turned = [[1, 2, 0], [3, 3, 2], [5, 2, 4]]
    assert seen == sorted([*triples.tolist(), *turned])
    assert triples.tolist() == [[0, 0, 1], [2, 1, 3], [4, 0, 5]], "they stay as they are"


def test_a_batch_depends_on_the_step_alone() -> None:
    one, other = (Shuffled(numbered(0, 10), 4, seed=1) for _ in range(2))
    for step in range(7):
        last = one.at(step)
    assert torch.equal(other.at(6), last)
    elsewhere = Shuffled(numbered(0, 10), 4, seed=1, stream=Stream.ADDED)
    assert not torch.equal(elsewhere.at(6), last)


def test_a_mixture_holds_both_and_counts_the_first() -> None:
    mixed = Mixed(
        Shuffled(numbered(0, 5), 2, seed=1, stream=Stream.ADDED),
        Shuffled(numbered(100, 200), 3, seed=1),
    )
    assert mixed.steps_per_epoch == 3
    seen = [mixed.at(step)[:, 0].tolist() for step in range(3)]
    assert [[number < 100 for number in batch].count(True) for batch in seen] == [2, 2, 1]
    assert [[number >= 100 for number in batch].count(True) for batch in seen] == [3, 3, 3]
    assert sorted(n for batch in seen for n in batch if n < 100) == [0, 1, 2, 3, 4]

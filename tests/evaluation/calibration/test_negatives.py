from __future__ import annotations

import numpy as np

from hale.data.graph import Graph, Vocabulary
from hale.evaluation.calibration import corrupt
from tests.conftest import ring


def test_one_place_is_changed_and_no_fact_comes_up() -> None:
    graph = ring(24)
    triples = np.concatenate([graph.train] * 20)
    found = corrupt(graph, triples, seed=3)
    assert found.shape == triples.shape
    changed = found != triples
    assert (changed.sum(axis=1) == 1).all()
    assert not changed[:, 1].any()
    facts = {tuple(row) for part in (graph.train, graph.valid, graph.test) for row in part.tolist()}
    assert not facts & {tuple(row) for row in found.tolist()}
    # a fair coin, and entities evenly from all: 880 draws
    assert 0.4 < changed[:, 0].mean() < 0.6
    assert len(np.unique(found[changed[:, 2], 2])) == 24


def test_seeded() -> None:
    graph = ring(24)
    zero = corrupt(graph, graph.valid, seed=0)
    np.testing.assert_array_equal(corrupt(graph, graph.valid), zero)
    assert (corrupt(graph, graph.train, seed=1) != corrupt(graph, graph.train, seed=2)).any()


def test_a_triple_without_corruptions_is_left_out() -> None:
    """Of relation 'all' every pair is a fact; of 'one' a single pair is."""
    everything = [[h, 0, t] for h in range(3) for t in range(3)]
    graph = Graph(
        "full",
        Vocabulary(["a", "b", "c"], "entity"),
        Vocabulary(["all", "one"], "relation"),
        train=np.array([*everything, [0, 1, 1]]),
        valid=np.empty((0, 3)),
        test=np.empty((0, 3)),
    )
    assert corrupt(graph, graph.train)[:, 1].tolist() == [1]

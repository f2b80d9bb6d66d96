"""Clusters: dense places found, and named by what is over-represented, all by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hale.data.graph import Graph, Vocabulary
from hale.serve.map.clusters import Cluster, Trait, _surprise, describe, find_clusters


def blobs(*middles: tuple[float, float], count: int = 60) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.concatenate(
        [middle + 0.03 * rng.normal(size=(count, 2)) for middle in middles]
    ).astype(np.float32)


def test_three_blobs_are_three_clusters() -> None:
    found = find_clusters(blobs((-0.7, -0.7), (0.7, -0.5), (0, 0.8)))
    parts = [found[60 * i : 60 * (i + 1)] for i in range(3)]
    most = [np.bincount(part[part >= 0]).argmax() for part in parts]
    assert sorted(most) == sorted(set(most))
    for part, number in zip(parts, most, strict=True):
        assert (part == number).mean() > 0.8


def test_the_largest_cluster_comes_first() -> None:
    xy = np.concatenate([blobs((-0.6, 0), count=50), blobs((0.6, 0), count=200)])
    found = find_clusters(xy)
    sizes = np.bincount(found[found >= 0])
    assert sizes.tolist() == sorted(sizes.tolist(), reverse=True)
    assert (found[60:] == 0).sum() > (found[:50] == 0).sum()


def test_few_points_apart_are_in_no_cluster() -> None:
    xy = np.concatenate([blobs((0, 0), count=1000), [[0.99, 0.99], [-0.99, 0.99]]])
    found = find_clusters(xy.astype(np.float32))
    assert found[-2:].tolist() == [-1, -1]


def graph_of_cities() -> Graph:
    """Entities 0 to 4 are a city, 5 to 9 a fish, 4 and 9 are both; c lies in 0 to 3."""
    names = [f"e{i}" for i in range(10)] + ["city", "fish", "land"]
    kinds = [(i, 0, 10) for i in (0, 1, 2, 3, 4, 9)] + [(i, 0, 11) for i in (4, 5, 6, 7, 8, 9)]
    return Graph(
        "cities",
        Vocabulary(names, "entity"),
        Vocabulary(["kind", "holds"], "relation"),
        train=np.array(kinds + [(12, 1, i) for i in range(4)]),
        valid=np.empty((0, 3), dtype=np.int64),
        test=np.empty((0, 3), dtype=np.int64),
        labels={"city": "a city"},
    )


def test_names_by_hand() -> None:
    xy = np.zeros((13, 2), dtype=np.float32)
    xy[:5] = np.array([[-1, -1], [-1, 0], [-0.5, 0], [-0.5, 1], [0, 0]])
    cluster = np.array([0] * 5 + [1] * 5 + [-1] * 3)
    first, second = describe(graph_of_cities(), xy, cluster)
    # 'kind: city' has 5 of 5 inside and 1 of 8 outside; 'holds of land' 4 of 5 and none outside.
    assert first.traits[:2] == (
        Trait("kind", True, "a city", 5, 6),
        Trait("holds", False, "land", 4, 4),
    )
    assert first.name == "kind: a city"
    assert str(first.traits[1]) == "holds of land"
    assert (first.size, first.x, first.y) == (5, -0.5, 0.0)
    assert second.name == "kind: fish"
    assert second.traits[0].inside == 5
    # being held at all says the same as being held by land, and comes behind single facts
    assert str(first.traits[2]) in ("has kind", "is holds")


def test_the_ratio_by_hand() -> None:
    """5 of 5 inside, 1 of 8 outside: 2 sum n ln(n / expected)."""
    share = 6 / 13
    wanted = 2 * (
        5 * math.log(5 / (5 * share))
        + 1 * math.log(1 / (8 * share))
        + 7 * math.log(7 / (8 * (1 - share)))
    )
    found = _surprise(np.array([5]), np.array([6]), np.array([5]), 13)
    assert found == pytest.approx([wanted])


def test_what_is_rarer_inside_names_nothing() -> None:
    assert _surprise(np.array([1]), np.array([9]), np.array([5]), 13).tolist() == [0.0]


def test_a_cluster_that_shares_nothing_tells_its_size() -> None:
    xy, cluster = np.zeros((13, 2), dtype=np.float32), np.full(13, -1)
    cluster[[10, 11, 12]] = 0
    (found,) = describe(graph_of_cities(), xy, cluster)
    assert found.traits == ()
    assert found.name == "3 entities"


def test_there_and_back() -> None:
    one = Cluster(3, 0.5, -0.25, (Trait("r", True, None, 3, 4), Trait("s", False, "x", 3, 3)))
    assert Cluster.from_dict(one.as_dict()) == one
    assert one.name == "has r"


def test_traits_are_counted_as_one_would_by_hand() -> None:
    """Over a dictionary of who has which fact, on a graph drawn at random."""
    rng = np.random.default_rng(1)
    facts = np.unique(rng.integers(0, (40, 2, 6), size=(150, 3)), axis=0)
    graph = Graph(
        "drawn",
        Vocabulary([f"e{i}" for i in range(40)], "entity"),
        Vocabulary(["likes", "knows"], "relation"),
        train=facts,
        valid=facts[:0],
        test=facts[:0],
    )
    cluster = rng.integers(-1, 3, size=40)
    has: dict[tuple[str, bool, str | None], set[int]] = {}
    for head, relation, tail in facts.tolist():
        name = graph.relations[relation]
        for who, outward, other in ((head, True, tail), (tail, False, head)):
            has.setdefault((name, outward, None), set()).add(who)
            has.setdefault((name, outward, f"e{other}"), set()).add(who)
    told = describe(graph, rng.normal(size=(40, 2)).astype(np.float32), cluster)
    assert sum(len(one.traits) for one in told) > 5
    for number, one in enumerate(told):
        mine = set(np.flatnonzero(cluster == number).tolist())
        for trait in one.traits:
            who = has[trait.relation, trait.outward, trait.other]
            assert (trait.inside, trait.overall) == (len(who & mine), len(who))
        rivals = [
            float(_surprise(*np.array([[len(who & mine)], [len(who)], [len(mine)]]), 40)[0])
            for (_, _, other), who in has.items()
            if other is not None and len(who & mine) >= 3
        ]
        named = [t for t in one.traits if t.other is not None]
        if named:
            best = np.array([[named[0].inside], [named[0].overall], [len(mine)]])
            assert float(_surprise(*best, 40)[0]) == max(rivals)

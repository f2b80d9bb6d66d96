"""Colours by hand on a graph of six."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hale.data.graph import Graph, Vocabulary
from hale.data.types import Types
from hale.errors import UnknownNameError
from hale.serve.map.clusters import Cluster
from hale.serve.map.colours import degrees, paint, type_relation, ways
from hale.serve.map.map_file import Layout

NOTHING = np.empty((0, 3), dtype=np.int64)


@pytest.fixture
def small() -> Graph:
    return Graph(
        "small",
        Vocabulary(["a", "b", "c", "d", "x", "y"], "entity"),
        Vocabulary(["near", "instance of"], "relation"),
        train=np.array([(0, 1, 4), (1, 1, 4), (2, 1, 5), (0, 1, 5), (3, 0, 3)]),
        valid=np.array([(0, 0, 1)]),
        test=NOTHING,
        labels={"x": "the x"},
    )


@pytest.fixture
def layout(small: Graph) -> Layout:
    xy = np.zeros((6, 2), dtype=np.float32)
    clusters = tuple(Cluster(1, 0, 0, ()) for _ in range(13))
    return Layout("pca", xy, np.array([0, 1, 11, 12, -1, 0]), clusters)


def test_degrees_count_a_loop_once(small: Graph) -> None:
    assert degrees(small).tolist() == [3, 2, 1, 1, 2, 2]


def test_by_degree(small: Graph, layout: Layout) -> None:
    painting = paint(small, layout, "degree")
    assert painting.colours.tolist() == [14, 14, 13, 13, 14, 14]
    assert painting.entries[:3] == ((13, "1 fact"), (14, "2 to 3"), (15, "4 to 7"))
    assert painting.entries[-1] == (20, "128 and more")


def test_by_cluster_colours_come_again(small: Graph, layout: Layout) -> None:
    painting = paint(small, layout, "cluster")
    assert painting.colours.tolist() == [1, 2, 12, 1, 0, 1]
    assert len(painting.entries) == 12
    assert painting.note.startswith("and 1 ")


def test_by_the_value_of_a_relation(small: Graph, layout: Layout) -> None:
    painting = paint(small, layout, "relation:instance of")
    # x and y have two facts each: x comes first; a has both, and of equals the first.
    assert painting.colours.tolist() == [1, 1, 2, 0, 0, 0]
    assert painting.entries == ((1, "the x (2)"), (2, "y (2)"), (0, "no instance of"))


def test_a_type_is_the_value_of_a_relation_so_named(small: Graph, layout: Layout) -> None:
    assert type_relation(small) == "instance of"
    assert ("type", "type (instance of)") in ways(small)
    by_type, by_value = (paint(small, layout, by) for by in ("type", "relation:instance of"))
    assert by_type.entries == by_value.entries


def test_types_of_the_graph_come_before_a_relation(small: Graph, layout: Layout) -> None:
    names = Vocabulary(["city", "person", "rare"], "type")
    # a: city and person; b: person; c: rare; d: person; x: rare and city; y: none
    types = Types(names, np.array([0, 0, 1, 2, 3, 4, 4]), np.array([0, 1, 1, 2, 1, 2, 0]))
    typed = replace(small, types=types)
    assert ("type", "type") in ways(typed)
    painting = paint(typed, layout, "type")
    # three persons, two cities, two rare: the most frequent first, and of equals the first named
    assert painting.entries == ((1, "person (3)"), (2, "city (2)"), (3, "rare (2)"), (0, "no type"))
    assert painting.colours.tolist() == [1, 1, 3, 1, 2, 0]
    by_value = paint(typed, layout, "relation:instance of")
    assert by_value.entries == paint(small, layout, "relation:instance of").entries


def test_more_types_than_colours(small: Graph, layout: Layout) -> None:
    names = Vocabulary([f"t{i:02}" for i in range(13)], "type")
    entities, types = np.array([0] * 13 + [1]), np.array([*range(13), 12])
    painting = paint(replace(small, types=Types(names, entities, types)), layout, "type")
    # t12 has two; t00 to t09 have one each and the other ten colours
    assert painting.entries[0] == (1, "t12 (2)")
    assert painting.entries[10] == (11, "t09 (1)")
    assert painting.colours.tolist() == [1, 1, 0, 0, 0, 0]
    assert painting.entries[11:] == ((0, "no type"),)  # nobody has no other than t10 or t11


def test_a_graph_without_one_has_no_types(graph: Graph, layout: Layout) -> None:
    assert type_relation(graph) is None
    assert "type" not in [value for value, _ in ways(graph)]
    with pytest.raises(UnknownNameError, match="way to colour 'type'"):
        paint(graph, layout, "type")


@pytest.mark.parametrize("by", ["", "colour", "relation:none"])
def test_what_cannot_be_coloured_by_is_told(by: str, small: Graph, layout: Layout) -> None:
    with pytest.raises(UnknownNameError):
        paint(small, layout, by)

"""Revisions of a graph: ids of old names stay, and what is removed is gone from every split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hale.data.graph import Graph, Ids
from hale.data.revision import Revision, revise
from hale.data.sources import graph_from_tables, read_triples
from hale.errors import InputError, SourceError

TRAIN = [("a", "r", "b"), ("b", "r", "c"), ("c", "s", "a")]
VALID, TEST = [("a", "s", "b")], [("b", "s", "c"), ("c", "r", "a")]


@pytest.fixture
def graph() -> Graph:
    return graph_from_tables(TRAIN, VALID, TEST, labels={"a": "the first"})


def names(graph: Graph, triples: Ids) -> list[tuple[str, str, str]]:
    return [
        (graph.entities[h], graph.relations[r], graph.entities[t]) for h, r, t in triples.tolist()
    ]


def test_new_names_get_the_next_ids(graph: Graph) -> None:
    add = [("z", "r", "a"), ("A", "q", "z"), ("a", "r", "c")]
    found = revise(graph, read_triples(add))
    after = found.after
    assert after.entities.names == ("a", "b", "c", "A", "z")
    assert after.relations.names == ("r", "s", "q")
    assert names(after, found.added) == add
    assert names(after, after.train) == [*TRAIN, *add]
    assert names(after, after.valid) == VALID
    assert names(after, after.test) == TEST
    assert (found.new_entities, found.new_relations) == (2, 1)
    assert after.label("a") == "the first"
    assert names(graph, graph.train) == TRAIN, "the graph itself is unchanged"


def test_removal_takes_a_fact_from_every_split(graph: Graph) -> None:
    gone = [("b", "r", "c"), ("b", "s", "c")]
    found = revise(graph, remove=read_triples(gone))
    after = found.after
    assert names(after, after.train) == [TRAIN[0], TRAIN[2]]
    assert names(after, after.test) == [TEST[1]]
    assert names(after, found.removed) == gone
    assert after.entities.names == graph.entities.names
    assert found.new_entities == 0


def test_what_is_there_stays_where_it_is(graph: Graph) -> None:
    found = revise(graph, read_triples([TRAIN[0], TEST[0], ("b", "r", "a")]))
    assert names(found.after, found.added) == [("b", "r", "a")]
    assert len(found.after.train) == 4
    assert names(found.after, found.after.test) == TEST
    assert found.notes == ("2 of the facts to add are in the graph already (left there)",)


def test_all_faults_of_a_removal_are_told_or_skipped(graph: Graph) -> None:
    gone = [("a", "r", "b"), ("x", "r", "b"), ("a", "r", "c"), ("b", "r", "c")]
    add = read_triples([("a", "r", "c"), ("b", "r", "a")])
    with pytest.raises(SourceError) as caught:
        revise(graph, add, read_triples(gone, what="the list"))
    assert "the list: 2 bad rows" in str(caught.value)
    assert "x r b: there is no such fact" in str(caught.value)
    assert "a r c: it is to be added as well" in str(caught.value)
    found = revise(graph, add, read_triples(gone), skip_bad=True)
    assert names(found.after, found.removed) == [gone[0], gone[3]]
    assert len(found.notes) == 2


def test_a_graph_is_not_emptied(graph: Graph) -> None:
    with pytest.raises(InputError, match="No training triples"):
        revise(graph, remove=read_triples(TRAIN))


def held(found: Revision) -> tuple[int, int, int]:
    return len(found.added), len(found.after.valid) - 1, len(found.held_out)


def test_new_facts_can_be_held_out(graph: Graph) -> None:
    given = [("z", "r", "b"), ("z", "s", "b"), ("z", "r", "c"), ("z", "r", "a")]
    found = revise(graph, read_triples(given), holdout=read_triples(given[:2]))
    assert names(found.after, found.added) == given[2:]
    assert names(found.after, found.held_out) == given[:2]
    assert names(found.after, found.after.test) == [*TEST, *given[:2]]

    many = [(f"n{i}", "r", f"n{j}") for i in range(6) for j in range(6) if i != j]
    shared = revise(graph, read_triples(many), holdout=0.1)
    assert held(shared) == (24, 3, 3)
    assert set(shared.added[:, [0, 2]].flatten()) >= set(shared.held_out[:, [0, 2]].flatten())


def test_new_names_without_a_training_fact_are_noted(graph: Graph) -> None:
    held = read_triples([("a", "r", "ghost"), ("new", "q", "a")])
    found = revise(graph, read_triples([("new", "r", "a")]), holdout=held)
    assert found.new_entities == 2
    one, other = found.notes
    assert one.startswith("1 of the new entities have no training fact (ghost)")
    assert other.startswith("1 of the new relations have no training fact (q)")


def test_weights_stay_with_their_facts_and_new_ones_weigh_one(graph: Graph) -> None:
    weighted = replace(graph, weights=np.arange(1, len(graph.train) + 1))
    new = [("z", "r", "b"), TRAIN[0]]
    found = revise(weighted, read_triples(new), read_triples([TRAIN[1]])).after
    assert found.weights is not None
    by_fact = dict(zip(names(found, found.train), found.weights.tolist(), strict=True))
    expected = {fact: float(place) for place, fact in enumerate(TRAIN, start=1)}
    del expected[TRAIN[1]]
    assert by_fact == expected | {("z", "r", "b"): 1.0}


def test_new_facts_may_have_weights(graph: Graph) -> None:
    rows = [("z", "r", "b", 2.0), (*TRAIN[0], 9.0), ("z", "r", "b", 0.5), ("z", "s", "b", 3.0)]
    given = read_triples(rows, weights="4")
    found = revise(graph, given).after
    assert found.weights is not None
    assert found.weights.tolist() == [1.0] * len(TRAIN) + [2.5, 3.0]  # a known fact keeps its own
    held = revise(graph, given, holdout=read_triples([("z", "s", "b")])).after
    assert held.weights is not None
    assert held.weights.tolist() == [1.0] * len(TRAIN) + [2.5]
    assert revise(graph, read_triples([("z", "r", "b")])).after.weights is None

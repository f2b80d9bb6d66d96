"""Missing facts, against plain loops over every fact."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import torch

from hale.answers.discovery import discover, discover_each
from hale.data.graph import Graph, Vocabulary
from hale.errors import InputError, UnknownNameError
from hale.models import make_model
from hale.runs.run import Run, Summary
from hale.settings import make_settings


def run_of(graph: Graph) -> Run:
    torch.manual_seed(0)
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    model = make_model("rotl", graph.size, 8).eval()
    return Run(make_settings(model="rotl", dim=8), graph, model, summary)


@pytest.fixture
def run(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The ring with an untrained model, in blocks of nine queries and seven entities, neither of
    which divides 24, and tables of 40 rows.
    """
    monkeypatch.setattr("hale.evaluation.spans.CHUNK_ELEMENTS", 9 * 7)
    monkeypatch.setattr("hale.evaluation.spans.LEAST_QUERIES", 9)
    monkeypatch.setattr("hale.answers.discovery.TABLE_ROWS", 40)
    monkeypatch.setattr("hale.answers.arrays.TABLE_ROWS", 40)
    return run_of(graph)


def missing(run: Run, relation: str) -> list[tuple[int, int]]:
    """(head, tail) of every fact that the graph lacks; the ring has no loops."""
    graph = run.graph
    number = graph.relations.id(relation)
    held = {tuple(t) for s in ("train", "valid", "test") for t in graph.split(s).tolist()}
    size = range(len(graph.entities))
    return [(h, t) for h in size for t in size if h != t and (h, number, t) not in held]


def score(run: Run, given: int, relation: int, answer: int) -> float:
    return run.model.score(*(torch.tensor([x]) for x in (given, relation, answer))).item()


@pytest.mark.parametrize("k", [1, 20, 10_000])
def test_of_each_relation_named(run: Run, k: int) -> None:
    found = discover(run, ["skip", "next"], k=k, anything=True)
    at = 0
    for relation in ("skip", "next"):
        number = run.graph.relations.id(relation)
        scores = {pair: score(run, pair[0], number, pair[1]) for pair in missing(run, relation)}
        expected = sorted(scores, key=lambda pair: -scores[pair])[:k]
        mine = found[at : at + len(expected)]
        entity = run.graph.entities.id
        assert [(entity(f.head), entity(f.tail)) for f in mine] == expected
        assert [f.score for f in mine] == pytest.approx([scores[p] for p in expected], abs=1e-5)
        assert [f.rank for f in mine] == list(range(1, len(expected) + 1))
        assert {f.relation for f in mine} == {relation}
        at += len(expected)
    assert at == len(found)


def test_of_all_relations_together(run: Run) -> None:
    scores = {
        (h, relation, t): score(run, h, relation, t)
        for relation, name in enumerate(run.graph.relations.names)
        for h, t in missing(run, name)
    }
    expected = sorted(scores, key=lambda fact: -scores[fact])[:50]
    found = discover(run, k=50, anything=True)
    entity, relation = run.graph.entities.id, run.graph.relations.id
    assert [(entity(f.head), relation(f.relation), entity(f.tail)) for f in found] == expected
    assert {f.relation for f in found} == {"next", "skip"}
    label = {f.head: f.head_label for f in found} | {f.tail: f.tail_label for f in found}
    assert label["e000"] == "the first"


def test_the_best_of_every_query(run: Run) -> None:
    told: list[tuple[int, int]] = []
    parts = list(
        discover_each(
            run, k=3, anything=True, progress=lambda done, total: told.append((done, total))
        )
    )
    assert len(parts) > 1
    assert told[-1] == (4 * 24, 4 * 24)
    table = pl.concat(parts)
    rows = []
    names = run.graph.entities.names
    for number, relation in enumerate(run.graph.relations.names):
        lacking = missing(run, relation)
        for asked in ("tail", "head"):
            for given in range(24):
                if asked == "tail":
                    scores = {t: score(run, given, number, t) for h, t in lacking if h == given}
                else:
                    scores = {h: score(run, given, number + 2, h) for h, t in lacking if t == given}
                best = sorted(scores, key=lambda entity: -scores[entity])[:3]
                for rank, other in enumerate(best, start=1):
                    head, tail = (given, other) if asked == "tail" else (other, given)
                    rows.append((names[head], relation, names[tail], asked, rank, scores[other]))
    assert table.select("head", "relation", "tail", "asked", "rank").rows() == [
        row[:5] for row in rows
    ]
    assert table["score"].to_list() == pytest.approx([row[5] for row in rows], abs=1e-5)
    assert table.filter(pl.col("head") == "e000")["head_label"].unique().to_list() == ["the first"]
    assert "known" not in table.columns


def test_loops_are_candidates_only_where_the_relation_has_some() -> None:
    graph = Graph(
        "loops",
        Vocabulary(["a", "b", "c"], "entity"),
        Vocabulary(["knows", "child"], "relation"),
        train=np.array([[0, 0, 0], [0, 1, 1]]),
        valid=np.empty((0, 3)),
        test=np.empty((0, 3)),
    )
    run = run_of(graph)
    found = {(f.head, f.relation, f.tail) for f in discover(run, k=100, anything=True)}
    pairs = [(h, t) for h in "abc" for t in "abc"]
    assert found == {(h, "knows", t) for h, t in pairs if (h, t) != ("a", "a")} | {
        (h, "child", t) for h, t in pairs if h != t and (h, t) != ("a", "b")
    }
    each = (
        pl.concat(discover_each(run, k=100, anything=True))
        .select("head", "relation", "tail")
        .rows()
    )
    assert sorted(each) == sorted([*found, *found])  # from both ends


def homes() -> Graph:
    """Persons 0 to 11 live in 12, 13 and 14, most in two of them; 15 lives nowhere yet, and 16
    is held out as a home. They know each other in a ring, 15 too.
    """
    lives = [(i, 0, 12 + (i + j) % 3) for i in range(12) for j in range(2)]
    persons = [*range(12), 15]
    knows = [(a, 1, b) for a, b in zip(persons, persons[1:] + persons[:1], strict=True)]
    return Graph(
        "homes",
        Vocabulary([f"e{i}" for i in range(17)], "entity"),
        Vocabulary(["lives", "knows"], "relation"),
        train=np.array(lives + knows),
        valid=np.array([(15, 0, 16)]),
        test=np.empty((0, 3)),
    )


def test_queries_without_candidates_count_too() -> None:
    """Nobody of those it is limited to may be lived in: those 12 queries have no answer."""
    run = run_of(homes())
    told: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        told.append((done, total))

    limits = {"within": [run.graph.entities[0]], "progress": note}
    discover(run, ["lives", "knows"], k=5, **limits)
    assert told[-1] == (12 + 13, 12 + 13)
    told.clear()
    list(discover_each(run, ["lives", "knows"], k=5, **limits))
    assert told[-1][0] == told[-1][1] > 2 * 12


def test_what_is_asked_and_answered_was_seen_on_its_side() -> None:
    """'lives' is closed on both sides; of 'knows', where each occurs once, all persons may be
    asked for, and those that live somewhere are of their kind.
    """
    graph = homes()
    run = run_of(graph)
    held = {tuple(fact) for fact in graph.triples.tolist()}
    lives = {(h, 0, t) for h in range(12) for t in (12, 13, 14)} - held
    persons = [*range(12), 15]
    knows = {(h, 1, t) for h in persons for t in persons if h != t} - held
    told: list[tuple[int, int]] = []
    facts = discover(
        run, ["lives", "knows"], k=1000, progress=lambda done, total: told.append((done, total))
    )
    entity, relation = graph.entities.id, graph.relations.id
    found = [(entity(f.head), relation(f.relation), entity(f.tail)) for f in facts]
    assert len(found) == len(set(found))
    assert set(found) == lives | knows
    assert told[-1] == (12 + 13, 12 + 13)
    table = pl.concat(discover_each(run, ["lives"], k=5)).select(
        "head", "relation", "tail", "asked"
    )
    rows = {(entity(h), relation(r), entity(t), asked) for h, r, t, asked in table.rows()}
    assert {row[:3] for row in rows if row[3] == "tail"} == lives, "fewer than five each"
    assert {row[:3] for row in rows if row[3] == "head"} <= lives
    assert {row[2] for row in rows if row[3] == "head"} == {12, 13, 14}


def test_the_candidates_are_those_of_all_facts_masked() -> None:
    """Scores and order are those of the facts among all that candidates may make."""
    graph = homes()
    run = run_of(graph)
    everything = discover(run, ["lives"], k=10_000, anything=True)
    likely = [f for f in everything if int(f.head[1:]) < 12 and f.tail in ("e12", "e13", "e14")]
    found = discover(run, ["lives"], k=10_000)
    assert [(f.head, f.tail) for f in found] == [(f.head, f.tail) for f in likely]
    assert [f.score for f in found] == pytest.approx([f.score for f in likely], abs=1e-5)
    assert len(found) == 12


def test_faults(run: Run) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'skip'"):
        discover(run, ["skp"])
    with pytest.raises(InputError, match="at least 1"):
        discover(run, k=0)
    with pytest.raises(InputError, match="at least 1"):
        next(discover_each(run, k=0))

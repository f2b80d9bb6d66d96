from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from hale.answers.discovery import discover
from hale.answers.explanation import why
from hale.answers.predictor import predict, predict_many
from hale.data.graph import Graph, Vocabulary
from hale.errors import EvaluationError, InputError, UnknownNameError
from hale.evaluation.calibration import calibrate, calibration_of
from hale.models import make_model
from hale.runs.run import Run, Summary
from hale.settings import make_settings
from hale.training.start import train
from tests.answers.test_discovery import homes, run_of
from tests.line_run import line_run


@pytest.fixture
def run() -> Run:
    """Points 0, 1, 2, 4 on a line; 'next' adds one."""
    graph = Graph(
        "line",
        Vocabulary(["p0", "p1", "p2", "p4"], "entity"),
        Vocabulary(["next"], "relation"),
        train=np.array([[0, 0, 1]]),
        valid=np.empty((0, 3)),
        test=np.array([[1, 0, 2]]),
        labels={"p1": "one", "p2": "two"},
    )
    model = make_model("transe", graph.size, 1)
    with torch.no_grad():
        model.entity.weight.copy_(torch.tensor([[0.0], [1.0], [2.0], [4.0]]))
        model.shift.weight.copy_(torch.tensor([[1.0], [-1.0]]))  # type: ignore[union-attr, operator]
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    return Run(make_settings(model="transe", dim=1), graph, model, summary)


def test_tails_by_hand(run: Run) -> None:
    answers = predict(run, head="p1", relation="next", k=3)
    # the query sits at 2: p2 0 away, p0 and p4 both 2; p1 is no answer to its own query
    assert [(a.rank, a.entity, a.label, a.score, a.known) for a in answers[:1]] == [
        (1, "p2", "two", 0.0, True),
    ]
    assert {(a.entity, a.score, a.split) for a in answers[1:]} == {
        ("p0", -4.0, None),
        ("p4", -4.0, None),
    }
    assert answers[0].split == "test"
    assert (answers.head, answers.relation, answers.tail) == ("p1", "next", None)


def test_heads_by_hand_and_by_label(run: Run) -> None:
    answers = predict(run, relation="next", tail="one", k=1)
    assert [(a.entity, a.score, a.known) for a in answers] == [("p0", 0.0, True)]
    assert answers.tail == "p1"


def test_more_than_all_gives_all(run: Run) -> None:
    """All but the head itself."""
    assert len(predict(run, head="p0", relation="next", k=100)) == 3


def test_as_dict(run: Run) -> None:
    found = predict(run, head="p0", relation="next", k=1).as_dict()
    assert found == {
        "head": "p0",
        "relation": "next",
        "tail": None,
        "answers": [{"rank": 1, "entity": "p1", "label": "one", "score": 0.0, "known": True}],
    }


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ({"head": "p0"}, InputError, "either a head or a tail"),
        ({"relation": "next"}, InputError, "either a head or a tail"),
        ({"head": "p0", "relation": "next", "tail": "p1"}, InputError, "either a head"),
        ({"head": "p0", "relation": "nxt"}, UnknownNameError, "Did you mean 'next'"),
        ({"head": "P1", "relation": "next"}, UnknownNameError, "Did you mean 'p1'"),
        ({"head": "p0", "relation": "next", "k": 0}, InputError, "at least 1"),
    ],
)
def test_faults(run: Run, query: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        predict(run, **query)  # type: ignore[arg-type]


def test_scores_that_are_not_finite(run: Run) -> None:
    with torch.no_grad():
        run.model.entity.weight[3] = torch.nan
    with pytest.raises(EvaluationError, match="not finite"):
        predict(run, head="p0", relation="next")


def test_relations_by_hand() -> None:
    """On a line, 'next' adds one and 'back' takes two away; they are asked forwards."""
    graph = Graph(
        "line",
        Vocabulary(["p0", "p1", "p2", "p4"], "entity"),
        Vocabulary(["next", "back"], "relation"),
        train=np.array([[0, 0, 1]]),
        valid=np.array([[2, 1, 0]]),
        test=np.empty((0, 3)),
    )
    model = make_model("transe", graph.size, 1)
    with torch.no_grad():
        model.entity.weight.copy_(torch.tensor([[0.0], [1.0], [2.0], [4.0]]))
        model.shift.weight.copy_(torch.tensor([[1.0], [-2.0], [50.0], [50.0]]))  # type: ignore[union-attr, operator]
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    run = Run(make_settings(model="transe", dim=1), graph, model, summary)
    answers = predict(run, head="p2", tail="p0", k=5)
    # (2 + 1 - 0)^2 = 9 and (2 - 2 - 0)^2 = 0
    assert [(a.rank, a.name, a.kind, a.score, a.split) for a in answers] == [
        (1, "back", "relation", 0.0, "valid"),
        (2, "next", "relation", -9.0, None),
    ]
    assert answers.as_dict() == {
        "head": "p2",
        "relation": None,
        "tail": "p0",
        "answers": [
            {"rank": 1, "relation": "back", "score": 0.0, "known": True},
            {"rank": 2, "relation": "next", "score": -9.0, "known": False},
        ],
    }
    dropped = predict(run, head="p2", tail="p0", known="drop")
    assert [(a.rank, a.name) for a in dropped] == [(1, "next")]


def test_known_facts_left_out(run: Run) -> None:
    answers = predict(run, head="p1", relation="next", k=10, known="drop")
    # p2 is known from the test split; the query sits at 2
    assert [(a.rank, a.score, a.known) for a in answers] == [
        (1, -4.0, False),
        (2, -4.0, False),
    ]
    assert {answer.entity for answer in answers} == {"p0", "p4"}


def test_a_query_whose_answers_are_all_known() -> None:
    graph = Graph(
        "full",
        Vocabulary(["a", "b"], "entity"),
        Vocabulary(["r"], "relation"),
        train=np.array([[0, 0, 0], [0, 0, 1]]),
        valid=np.empty((0, 3)),
        test=np.empty((0, 3)),
    )
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    settings = make_settings(model="transe", dim=2)
    run = Run(settings, graph, make_model("transe", graph.size, 2), summary)
    queries = [("a", "r", None), ("b", "r", None), (None, "r", "a")]
    sizes = [len(answers) for answers in predict_many(run, queries, known="drop")]
    assert sizes == [0, 2, 1]


def test_many_queries_are_answered_as_one_by_one(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All three kinds in turn, in chunks of five (two relations of 8 numbers a query) and spans
    of ten entities, against plain loops over the triples.
    """
    monkeypatch.setattr("hale.evaluation.spans.CHUNK_ELEMENTS", 5 * 2 * 8)
    monkeypatch.setattr("hale.evaluation.spans.LEAST_QUERIES", 5)
    torch.manual_seed(0)
    model = make_model("rotl", graph.size, 8).eval()
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    run = Run(make_settings(model="rotl", dim=8), graph, model, summary)
    names = graph.entities.names
    queries: list[tuple[str | None, str | None, str | None]] = []
    for number in range(24):
        queries.append((names[number], "skip", None))
        queries.append((None, "next", names[number]))
        queries.append((names[number], None, names[(number + 2) % 24]))
    asked: list[object] = []

    def asking() -> Iterator[tuple[str | None, str | None, str | None]]:
        for query in queries:
            asked.append(query)
            yield query

    stream = predict_many(run, asking(), k=24, known="drop", anything=True)
    assert next(stream).head == "e000"
    assert len(asked) == 5  # no more is read than a chunk
    found = list(predict_many(run, queries, k=24, known="drop", anything=True))
    assert [(a.head, a.relation, a.tail) for a in found] == queries
    held = {tuple(t) for s in ("train", "valid", "test") for t in graph.split(s).tolist()}
    entity, relation = graph.entities.id, graph.relations.id
    for (head, rel, tail), answers in zip(queries, found, strict=True):
        scores = {}
        for other in graph.relations.names if rel is None else names:
            if rel is None:
                fact = (entity(str(head)), relation(other), entity(str(tail)))
                asks = fact
            elif tail is None:
                asks = fact = (entity(str(head)), relation(rel), entity(other))
            else:
                fact = (entity(other), relation(rel), entity(tail))
                asks = (fact[2], fact[1] + 2, fact[0])
            if fact not in held and (rel is None or fact[0] != fact[2]):
                scores[other] = model.score(*(torch.tensor([x]) for x in asks)).item()
        expected = sorted(scores, key=lambda name: -scores[name])
        assert [a.name for a in answers] == expected
        assert [a.score for a in answers] == pytest.approx([scores[n] for n in expected], abs=1e-5)
        assert not any(a.known for a in answers)


def test_a_treatment_that_does_not_exist(run: Run) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'drop'"):
        predict(run, head="p0", relation="next", known="dorp")


def test_only_answers_above_a_probability() -> None:
    """The true tail scores 0 in both directions; what misses by far has no chance."""
    line = line_run()
    certain = predict(line, head="p5", relation="next", k=20, above=0.5)
    sure = calibration_of(line)
    everything = predict(line, head="p5", relation="next", k=20)
    assert all(answer.probability is None for answer in everything), "none is kept with the run"
    wanted = [
        answer.name
        for answer in everything
        if sure.probability_of(line, np.array([[5, 0, int(answer.name[1:])]]))[0] >= 0.5
    ]
    assert [answer.name for answer in certain] == wanted
    assert "p6" in wanted
    assert 0 < len(wanted) < 20
    assert all(answer.probability >= 0.5 for answer in certain)
    assert "probability" in certain.as_dict()["answers"][0]
    all_others = predict(line, head="p5", relation="next", k=20, above=0.0, anything=True)
    assert len(all_others) == 19
    with pytest.raises(InputError, match="between 0 and 1, got 2"):
        predict(line, head="p5", relation="next", above=2)


def test_a_calibration_kept_with_the_run_gives_probabilities(tmp_path: Path) -> None:
    graph = line_run().graph
    run = train(graph, model="transe", dim=4, epochs=3, out=tmp_path / "run")
    assert predict(run, head="p5", relation="next")[0].probability is None
    kept = calibrate(run)
    answers = predict(run, head="p5", relation="next", k=3)
    for answer in answers:
        fact = np.array([[5, 0, graph.entities.id(answer.name)]])
        assert answer.probability == pytest.approx(kept.probability_of(run, fact)[0])
    (found,) = discover(run, ["next"], k=1)
    ids = np.array([[graph.entities.id(found.head), 0, graph.entities.id(found.tail)]])
    assert found.probability == pytest.approx(kept.probability_of(run, ids)[0])
    explained = why(run, "p5", "next", "p6")
    assert explained.probability == pytest.approx(
        kept.probability_of(run, np.array([[5, 0, 6]]))[0]
    )
    with torch.no_grad():
        run.model.entity.weight.mul_(2)
    assert predict(run, head="p5", relation="next")[0].probability is None, "made for others"


def test_relations_are_compared_with_their_scales() -> None:
    """'next' misses p2 by 1, 'twice' by 0.9, but c is 1 for the one and 4 for the other."""
    run = line_run()
    run.settings = make_settings(model="transe", dim=2)
    with torch.no_grad():
        run.model.shift.weight[1, 0] = 2.9
        run.model.free_scale.weight[1] = math.log(math.e**4 - 1)  # softplus of it is 4
    found = predict(run, head="p0", tail="p2", anything=True)
    assert [answer.name for answer in found] == ["next", "twice"]
    assert [answer.score for answer in found] == pytest.approx([-1, -4 * 0.9**2], rel=1e-4)
    run.settings = make_settings(model="transe", dim=2, relation_scale=False)
    found = predict(run, head="p0", tail="p2", anything=True)
    assert [answer.name for answer in found] == ["twice", "next"]


def test_answers_were_seen_on_their_side() -> None:
    """A person lives in one of three homes and knows persons, whatever is nearer."""
    run = run_of(homes())
    tails = predict(run, head="e1", relation="lives", k=100)
    assert {answer.entity for answer in tails} == {"e12", "e13", "e14"}
    assert {answer.entity for answer in tails if answer.known} == {"e13", "e14"}
    heads = predict(run, relation="lives", tail="e12", k=100, known="drop")
    assert {answer.entity for answer in heads} == {"e1", "e4", "e7", "e10"}
    others = predict(run, head="e1", relation="knows", k=100)
    assert {answer.entity for answer in others} == {f"e{i}" for i in [*range(12), 15]} - {"e1"}
    everything = predict(run, head="e1", relation="lives", k=100, anything=True)
    assert {answer.entity for answer in everything} == {f"e{i}" for i in range(17)} - {"e1"}
    queries = [("e1", "lives", None), (None, "knows", "e3"), ("e15", "lives", None)]
    counts = [len(answers) for answers in predict_many(run, queries, k=100)]
    assert counts == [3, 12, 3]


def test_answers_of_a_type_or_a_set() -> None:
    """Who lives in e12 does so as a type; a set narrows what may answer anyway."""
    run = run_of(homes())
    at_home = {"types": "e12", "type_relation": "lives"}
    knows = predict(run, head="e1", relation="knows", k=100, **at_home)  # type: ignore[arg-type]
    assert {answer.entity for answer in knows} == {f"e{i}" for i in (0, 2, 3, 5, 6, 8, 9, 11)}
    within = predict(run, head="e1", relation="lives", k=100, within=["e13", "e3", "e16"])
    assert [answer.entity for answer in within] == ["e13"]
    wider = predict(run, head="e1", relation="lives", within=["e13", "e3", "e16"], anything=True)
    assert {answer.entity for answer in wider} == {"e13", "e3", "e16"}
    with pytest.raises(InputError, match="nobody is left to answer"):
        predict(run, head="e1", relation="lives", within=["e3"])
    with pytest.raises(InputError, match="nobody is left to answer"):
        discover(run, ["lives"], within=["e3"])
    facts = discover(run, ["lives"], k=100, within=["e13"])
    assert {fact.tail for fact in facts} == {"e13"}
    queries = [("e1", "lives", None), ("e1", "knows", None)]
    counts = [len(answers) for answers in predict_many(run, queries, within=["e3"])]
    assert counts == [0, 1], "of many queries some may have no candidate"


def test_relations_join_what_they_have_joined() -> None:
    """A person lives in a home and knows persons: of each, one was seen on its side, and what
    stands nowhere in train is of no kind. Nobody has a relation with itself. That homes are homes
    tells nothing more of them, so that who lives may live anywhere.
    """
    run = run_of(homes())
    pairs = [("e0", "e12"), ("e0", "e15"), ("e12", "e0"), ("e0", "e0"), ("e16", "e12")]
    found = predict_many(run, [(head, None, tail) for head, tail in pairs])
    assert [sorted(answer.name for answer in answers) for answers in found] == [
        ["lives"],
        ["knows", "lives"],
        [],
        [],
        [],
    ]
    assert len(predict(run, head="e12", tail="e0", anything=True)) == 2
    assert len(predict(run, head="e0", tail="e0", anything=True)) == 0


def test_a_head_that_is_ruled_out_is_never_listed() -> None:
    run = line_run(5)
    run.model.may_loop = torch.zeros(4, 1, dtype=torch.bool)
    found = predict(run, head="p2", relation="next", k=5)
    assert sorted(answer.entity for answer in found) == ["p0", "p1", "p3", "p4"]
    assert min(answer.score for answer in found) > -100
    assert len(predict(run, head="p2", tail="p2", k=2)) == 0

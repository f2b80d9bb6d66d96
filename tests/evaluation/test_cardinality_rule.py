"""The cardinality rule: ranks against plain loops, and answers that follow it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from hale.answers.discovery import discover
from hale.answers.predictor import predict
from hale.data.graph import Graph, Vocabulary
from hale.data.keys import Ids
from hale.engine import library
from hale.engine.activations import make_activation
from hale.errors import SettingsError
from hale.evaluation.calibration.standing import Standings
from hale.evaluation.candidate_ranks import ranks_among
from hale.evaluation.candidates import Candidates
from hale.evaluation.cardinality_rule import CardinalityRule, rule_of
from hale.evaluation.evaluator import evaluate
from hale.evaluation.ranks import count_rivals, filtered_ranks
from hale.models import Model, make_model
from hale.runs.run import Run, Summary
from hale.runs.systems import check, complete
from hale.settings import Settings, make_settings

NUM, RELS = 70, 2


def facts() -> tuple[Ids, Ids]:
    """Of relation 0 heads have one tail, of relation 1 facts mostly run both ways; then held-out.

    Of the heads of relation 0 one has two tails after all.
    """
    draws = np.random.default_rng(3)
    one = [[i, 0, int(draws.integers(50, NUM))] for i in range(45)] + [[7, 0, 60]]
    pairs = [[i, 1, i + 20] for i in range(20)]
    both = pairs + [[t, r, h] for h, r, t in pairs]
    held = [[i, 0, int(draws.integers(50, NUM))] for i in range(40, 50)] + [[60, 1, 61], [3, 1, 9]]
    return np.unique(np.array(one + both), axis=0), np.array(held)


class Guarded(Graph):
    """A graph whose held-out splits are not to be looked at."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("valid", "test") and object.__getattribute__(self, "__dict__").get("closed"):
            raise AssertionError(f"{name} was read")
        return super().__getattribute__(name)


def graph_of(kind: type[Graph] = Graph) -> Graph:
    train, held = facts()
    return kind(
        "toy",
        Vocabulary([f"e{i}" for i in range(NUM)], "entity"),
        Vocabulary(["one", "both"], "relation"),
        train=train,
        valid=held,
        test=held[:0],
    )


def model_of(name: str, *, loops: bool = True) -> Model:
    """Scores are halves of small whole numbers, exact in any order of sums: many are equal."""
    model = make_model(name, graph_of().size, 4, loops=loops)
    draws = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randint(-1, 2, parameter.shape, generator=draws) / 2)
        model.free_scale.weight.copy_(torch.tensor([[0.5], [0.7], [1.0], [0.1]]))
    if model.may_loop is not None:
        model.may_loop.fill_(False)
    return model.eval()


def rank_by_hand(
    model: Model, settings: Settings, graph: Graph, triple: list[int], known: set[tuple[int, ...]]
) -> float:
    """By a + delta in double precision, one entity after the other; one kind by its scores."""
    head, relation, tail = triple
    p, o = graph.profiles.taken[relation], graph.profiles.seen[relation]
    delta = max(0.0, math.log((1 - p) / (1 - o)) - math.log(p / o))
    train = {tuple(t) for t in graph.both_directions(graph.train).tolist()}
    gamma = settings.gamma
    if settings.gamma_two_way is not None and relation % RELS == 1:
        gamma = settings.gamma_two_way
    h = make_activation(settings.activation, beta=settings.beta, gamma=gamma)

    asked = (torch.full((NUM,), x) for x in (head, relation))
    scores = model.score(*asked, torch.arange(NUM)).tolist()

    def scored(entity: int) -> tuple[float, bool, float]:
        score = scores[entity]
        taken = any((other, relation, entity) in train for other in range(NUM) if other != head)
        if model.similarity == "dot":
            return score, taken, -score + delta * taken
        scale = 1.0
        if settings.relation_scale:
            scale = math.log1p(math.exp(model.free_scale.weight[relation].item()))
        x = torch.tensor([max(0.0, -score) * scale], dtype=torch.float64)
        return score, taken, float(h.value_and_slope(x)[0]) + delta * taken

    mine, above, beside = scored(tail), 0, 0
    for entity in range(NUM):
        if entity == tail or (head, relation, entity) in known:
            continue
        other = scored(entity)
        last = other[0] < -1e29
        if not delta or other[1] == mine[1] or last or mine[0] < -1e29:
            above, beside = above + (other[0] > mine[0]), beside + (other[0] == mine[0])
        else:
            above, beside = above + (other[2] < mine[2]), beside + (other[2] == mine[2])
    return 1 + above + beside / 2


CASES = [
    ("transe", {"activation": "hanon", "gamma": 4.0, "beta": 2.0}),
    ("transe", {"activation": "hanon", "gamma": 0.5}),  # its bound is below a delta
    ("transe", {"activation": "hanon", "gamma": 3.0, "gamma_two_way": 8.0}),
    ("transe", {"activation": "halin", "beta": 2.0, "gamma": 3.0}),
    ("transe", {"activation": "arctanh"}),
    ("transe", {"activation": "identity", "relation_scale": False, "strategy": "allneg"}),
    ("distmult", {"strategy": "allneg", "activation": "identity", "relation_scale": False}),
]


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(("name", "values"), CASES)
def test_ranks_by_plain_loops(
    name: str, values: dict[str, Any], native: bool, loops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not native:
        monkeypatch.setattr(library, "takes", lambda *_: False)
    graph, model = graph_of(), model_of(name, loops=loops)
    settings = make_settings(model=name, **values)
    rule = CardinalityRule(graph, model, settings)
    assert (rule.deltas > 0).sum() >= 3
    triples = graph.both_directions(np.concatenate([graph.valid, graph.train[::11]]))
    known = {tuple(t) for t in graph.both_directions(graph.triples).tolist()}
    found = filtered_ranks(model, triples, graph.known_answers, rule=rule)
    expected = [rank_by_hand(model, settings, graph, t, known) for t in triples.tolist()]
    assert found.tolist() == expected
    if not loops or values.get("gamma") == 0.5:
        return
    plain = filtered_ranks(model, triples, graph.known_answers)
    assert (plain != found).any()
    among = ranks_among(
        model, triples, Candidates(graph, anything=True), graph.known_answers, rule=rule
    )
    kept = np.isfinite(among)
    assert among[kept].mean() <= found[kept].mean()  # loops are no candidates here


@pytest.mark.parametrize("native", [True, False])
def test_counts_add_up_over_spans(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With targets found once, what shards of the entities count adds up to the whole."""
    if not native:
        monkeypatch.setattr(library, "takes", lambda *_: False)
    graph, model = graph_of(), model_of("transe")
    rule = CardinalityRule(graph, model, make_settings())
    triples = graph.both_directions(graph.valid)
    whole = count_rivals(model, triples, graph.known_answers, rule=rule)
    parts = [
        count_rivals(
            model, triples, graph.known_answers, rule=rule, targets=whole.targets, first=a, last=b
        )
        for a, b in ((0, 31), (31, NUM))
    ]
    assert torch.equal(whole.higher, parts[0].higher + parts[1].higher)
    assert torch.equal(whole.no_lower, parts[0].no_lower + parts[1].no_lower)


def test_nothing_held_out_is_read() -> None:
    """Neither for the deltas, nor for who is taken, nor for levels."""
    graph, model = graph_of(Guarded), model_of("transe")
    triples = graph.both_directions(graph.valid)
    graph.__dict__["closed"] = True
    rule = CardinalityRule(graph, model, make_settings())
    rule.levels(triples, torch.full((len(triples),), -2.0))
    assert rule.marks(triples[:, 0], triples[:, 1], np.arange(NUM)) is not None
    with pytest.raises(AssertionError, match="valid was read"):
        _ = graph.valid


def run_of(**values: Any) -> Run:
    graph, model = graph_of(), model_of("transe")
    summary = Summary("epochs", 1, 1.0, 1.0, 0.0, 0, 1, 1, "cpu")
    return Run(make_settings(model="transe", dim=4, **values), graph, model, summary)


def test_predictions_follow_the_ranks() -> None:
    """All answers to a query in the order of a + delta; scores are the model's own."""
    with_rule, without = run_of(cardinality=True, gamma=4.0), run_of(gamma=4.0)
    rule = rule_of(with_rule)
    assert rule is not None
    asked = {"relation": "one", "tail": "e60", "k": NUM, "anything": True}
    found = predict(with_rule, **asked)
    plain = predict(without, **asked)
    graph = with_rule.graph
    ids = np.array([graph.entities.id(answer.name) for answer in found])
    assert sorted(ids) == sorted(graph.entities.id(answer.name) for answer in plain)
    assert ids.tolist() != [graph.entities.id(answer.name) for answer in plain]
    given, relations = np.full(len(ids), 60), np.full(len(ids), RELS)
    x = torch.tensor([-answer.score for answer in found])
    value = rule._activated(x, relations) + torch.from_numpy(rule.nats(given, relations, ids))
    assert (value.diff() >= -1e-9).all()
    scores = {answer.name: answer.score for answer in plain}
    assert all(answer.score == pytest.approx(scores[answer.name]) for answer in found)


def test_a_head_with_its_value_stands_back_in_discoveries() -> None:
    """Without the rule second tails of heads that have theirs are among the best; with it none."""
    with_rule, without = (run_of(cardinality=on, gamma=1.0) for on in (True, False))
    has = set(graph_of().train[graph_of().train[:, 1] == 0][:, 0].tolist())

    def taken(run: Run) -> int:
        best = discover(run, ["one"], k=40, anything=True)
        return sum(run.graph.entities.id(fact.head) in has for fact in best)

    assert taken(without) > 10
    assert taken(with_rule) == 0


def test_calibration_sees_the_ranks_of_answers() -> None:
    """A claim stands among candidates by the rule, and its score has delta taken off."""
    run = run_of(cardinality=True, gamma=4.0)
    standings = Standings(run)
    given, relations, answers = np.array([60]), np.array([RELS]), np.array([3])
    lists = standings.lists(given, relations, depth=NUM)
    order = lists.entities[0][np.isfinite(lists.scores[0])]
    assert np.all(np.diff(lists.scores[0][: len(order)]) <= 1e-6)
    stand = standings.stand(lists, np.array([0]), answers)
    assert standings.num_above(given, relations, answers)[0] == stand.ranks[0] - 1
    assert stand.ranks[0] == 1 + int((lists.scores[0] > stand.features[0, 1] + 1e-6).sum())
    plain = Standings(run_of(gamma=4.0))
    scored = plain.stand(plain.lists(given, relations, depth=NUM), np.array([0]), answers)
    delta = run.graph.profiles.deltas[RELS]
    assert scored.features[0, 1] - stand.features[0, 1] == pytest.approx(delta)


def test_a_report_has_both_figures() -> None:
    run = run_of(cardinality=True)
    found, plain = evaluate(run, "valid"), evaluate(run, "valid", cardinality=False)
    assert found.vectors_alone == plain.overall
    assert found.mrr != plain.mrr
    assert plain.vectors_alone is None
    assert found.as_dict()["vectors_alone"]["mrr"] == plain.mrr
    assert evaluate(run_of(), "valid", cardinality=True).overall == found.overall


def test_where_scores_are_no_log_odds() -> None:
    with pytest.raises(SettingsError, match="square loss"):
        check(complete(strategy="nonneg", model="rote", cardinality=True))
    with pytest.raises(SettingsError, match="biases beside"):
        check(complete(strategy="samneg", activation="hanon", biases=True, cardinality=True))

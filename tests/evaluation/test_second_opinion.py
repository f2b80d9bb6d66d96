"""A second opinion: scores and ranks by plain loops, the weight that validation chooses."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hale
from hale.answers.predictor import predict
from hale.answers.scorer import Scorer
from hale.data.graph import Graph, Vocabulary
from hale.data.path_rules import PathRules, mine
from hale.errors import InputError, RunError
from hale.evaluation import second_opinion
from hale.evaluation.candidates import Candidates
from hale.evaluation.cardinality_rule import CardinalityRule
from hale.evaluation.ranks import filtered_ranks
from hale.evaluation.second_opinion import Advised, choose_weight, weight_of, with_paths
from hale.models import Model, make_model
from hale.runs.file_names import PATHS
from hale.runs.seal import sealed
from hale.settings import make_settings

FAMILIES = 30  # of a child, its parent and its grandparent
NUM = 3 * FAMILIES
PARENT, GRAND = 0, 1


def families(*, valid: bool = True) -> Graph:
    """Children, parents, grandparents; of the last third of the families it is held out who the
    grandparent is, which two steps tell.
    """
    steps = [(3 * n + m, PARENT, 3 * n + m + 1) for n in range(FAMILIES) for m in range(2)]
    told = [(3 * n, GRAND, 3 * n + 2) for n in range(FAMILIES)]
    held = np.array(told[20:])
    return Graph(
        name="families",
        entities=Vocabulary([f"e{number}" for number in range(NUM)], "entity"),
        relations=Vocabulary(["parent", "grandparent"], "relation"),
        train=np.array(steps + told[:20]),
        valid=held[::2] if valid else held[:0],
        test=held[1::2],
    )


def model_of(graph: Graph) -> Model:
    """Scores that know nothing."""
    model = make_model("transe", graph.size, 4)
    draws = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randint(-2, 3, parameter.shape, generator=draws) / 2)
    return model.eval()


def confidence(rules: PathRules, head: int, relation: int, tail: int) -> float:
    """The best rule from head to tail, looked for one by one."""
    ends = rules.walks.from_entities(np.array([head]))
    best = 0.0
    for code, end in zip(ends.codes.tolist(), ends.entities.tolist(), strict=True):
        at = np.flatnonzero(rules.keys == relation * rules.width + code)
        if end == tail and len(at):
            best = max(best, rules.facts[at[0]] / (rules.cases[at[0]] + 5))
    return best


def test_scores_by_plain_loops() -> None:
    graph = families()
    model, rules = model_of(graph), mine(graph)
    advised = Advised(model, rules, 0.5).eval()
    heads, relations = torch.tensor([60, 62, 0]), torch.tensor([1, 3, 0])
    everybody = torch.arange(NUM)
    plain = model.score_all(heads, relations)
    expected = plain.clone()
    for row, (head, relation) in enumerate(zip(heads.tolist(), relations.tolist(), strict=True)):
        for entity in range(NUM):
            gain = math.log1p(100 * confidence(rules, head, relation, entity))
            expected[row, entity] += 0.5 * gain
    found = advised.score_all(heads, relations)
    assert (found > plain).any(dim=1).all()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(advised.score_all(heads, relations, 50, 70), expected[:, 50:70])
    for row in range(3):
        asked = (x[row : row + 1].expand(NUM) for x in (heads, relations))
        torch.testing.assert_close(advised.score(*asked, everybody), expected[row])


@pytest.mark.parametrize("activation", ["hanon", "identity"])
def test_ranks_under_the_cardinality_rule(activation: str) -> None:
    """Who is taken stands where ``lowered`` puts it, also from a score above zero."""
    graph = families()
    advised = Advised(model_of(graph), mine(graph), 1.0).eval()
    settings = make_settings(model="transe", activation=activation, relation_scale=False, gamma=20)
    rule = CardinalityRule(graph, advised, settings)
    triples = graph.both_directions(np.concatenate((graph.valid, graph.test, graph.train[::7])))
    found = filtered_ranks(advised, triples, graph.known_answers, rule=rule)
    known = {tuple(fact) for fact in graph.both_directions(graph.triples).tolist()}
    above_zero = 0
    for (head, relation, tail), rank in zip(triples.tolist(), found.tolist(), strict=True):
        asked = torch.tensor([head]), torch.tensor([relation])
        scores = advised.score_all(*asked)[0]
        above_zero += int((scores > 0).any())
        everybody, same = np.arange(NUM), np.full(NUM, relation)
        taken = torch.from_numpy(rule.taken(np.full(NUM, head), same, everybody))
        stand = torch.where(taken, rule.lowered(scores, same), scores)
        others = [e for e in range(NUM) if e == tail or (head, relation, e) not in known]
        above = int((stand[others] > stand[tail] + 1e-5).sum())
        beside = int(((stand[others] - stand[tail]).abs() <= 1e-5).sum())
        assert 1 + above <= rank <= above + beside
    assert above_zero


def run_of(graph: Graph, **values: Any) -> hale.Run:
    return hale.train(graph, model="transe", dim=4, epochs=1, recipe="none", **values)


def test_validation_chooses_the_weight() -> None:
    run = run_of(families())
    rules = mine(run.graph)
    assert choose_weight(run, rules) > 0
    none = PathRules.of_dict(run.graph, {"keys": [], "facts": [], "cases": []})
    assert choose_weight(run, none) == 0.0  # the least of equals
    advised = with_paths(run)
    assert hale.evaluate(advised, "test").mrr > hale.evaluate(run, "test").mrr
    answers = predict(advised, head="e63", relation="grandparent", k=1)
    assert answers[0].name == "e65"
    assert with_paths(advised) is advised
    assert weight_of(advised) > weight_of(run) == 0.0


@pytest.mark.parametrize("size", [1.0, 12.0, 64.0])
def test_larger_weights_are_tried_while_the_largest_is_best(size: float) -> None:
    """Vectors that are sure of the wrong answers take more to be overruled; within a bound."""
    run = run_of(families())
    with torch.no_grad():
        run.model.entity.weight *= size
    rules = mine(run.graph)
    weight = choose_weight(run, rules)
    every = [*second_opinion.WEIGHTS, 8.0, 16.0, 32.0, 64.0]

    def mrr(weight: float) -> float:
        advised = Advised(run.model, rules, weight)
        queries = run.graph.both_directions(run.graph.valid)
        return float((1 / filtered_ranks(advised, queries, run.graph.known_answers)).mean())

    assert mrr(weight) == max(map(mrr, every))
    assert (weight > second_opinion.WEIGHTS[-1]) == (size > 1)


def test_rules_are_kept_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(families(), out=tmp_path / "run")
    first = with_paths(run)
    kept = tmp_path / "run" / PATHS

    def not_again(*_: Any, **__: Any) -> PathRules:
        raise AssertionError("mined again")

    with monkeypatch.context() as patch:
        patch.setattr(second_opinion, "mine", not_again)
        again = with_paths(tmp_path / "run")
    assert weight_of(again) == weight_of(first)
    asked = torch.arange(NUM), torch.ones(NUM, dtype=torch.long)
    torch.testing.assert_close(again.model.score_all(*asked), first.model.score_all(*asked))
    values = json.loads(kept.read_text())
    kept.write_text(json.dumps(sealed({**values, "step": values["step"] + 1})))
    assert weight_of(with_paths(tmp_path / "run")) == weight_of(first)  # of other weights: anew
    kept.write_text("{")
    with pytest.raises(RunError, match=r"paths\.json"):
        with_paths(tmp_path / "run")


def test_without_validation_triples() -> None:
    with pytest.raises(InputError, match="no valid triples"):
        with_paths(run_of(families(valid=False)))


def test_saved_it_is_the_run_that_it_was(tmp_path: Path) -> None:
    run = run_of(families())
    advised = with_paths(run)
    advised.save(tmp_path / "run")
    again = hale.load_run(tmp_path / "run")
    np.testing.assert_array_equal(again.vectors().array, run.vectors().array)
    np.testing.assert_array_equal(advised.vectors().array, run.vectors().array)
    assert isinstance(advised.model, Advised)
    with pytest.raises(InputError, match="without path rules"):
        predict(advised, head="e63", relation="grandparent", above=0.5)


def test_relations_between_entities_gain_by_rules_unscaled() -> None:
    run = run_of(families())
    rules = mine(run.graph)
    rows = []
    for weight in (0.0, 2.0):
        scorer = Scorer(
            replace(run, model=Advised(run.model, rules, weight)),
            Candidates(run.graph, anything=True),
        )
        marks = np.zeros((1, 2), dtype=bool)
        rows.append(scorer.relations(np.array([60]), np.array([62]), marks)[0])
    gain = math.log1p(100 * confidence(rules, 60, GRAND, 62))
    assert gain > 0
    torch.testing.assert_close(rows[1][GRAND] - rows[0][GRAND], torch.tensor(2 * gain).float())


def test_another_seed_is_mined_anew(tmp_path: Path) -> None:
    run = run_of(families(), out=tmp_path / "run")
    with_paths(run, seed=1)
    values = json.loads((tmp_path / "run" / PATHS).read_text())
    assert values["seed"] == 1
    with_paths(tmp_path / "run")
    values = json.loads((tmp_path / "run" / PATHS).read_text())
    assert values["seed"] == 0

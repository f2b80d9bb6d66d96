"""What a run answers, by values worked out by hand: entity i sits at i, 'next' adds one."""

from __future__ import annotations

from itertools import product

import pytest

from hale.errors import HaleError, InputError
from hale.evaluation.classification import classify
from hale.serve.service import Service
from tests.serve.conftest import NAMES, SCRIPT


def test_an_answer_is_the_point_one_further(service: Service) -> None:
    found = service.predict(head="p8", relation="next", k=2)
    assert found["run"] == "odd"
    assert [(a["entity"], a["score"], a["known"]) for a in found["answers"]] == [
        ("p9", 0.0, False),
        ("p7", -4.0, False),  # not p8: 'next' has no loops
    ]


def test_the_facts_of_an_entity_by_relation_each_once(service: Service) -> None:
    found = service.entity(SCRIPT)
    assert (found["entity"], found["label"], found["num_facts"]) == (SCRIPT, "<i>label</i>", 3)
    facts = [(f["head"], f["relation"], f["tail"], f["split"]) for f in found["facts"]]
    assert facts == [
        (SCRIPT, "next", "a/b?c#d&e", "test"),
        ("p2", "next", SCRIPT, "valid"),
        (SCRIPT, "is <b>", SCRIPT, "train"),
    ]
    assert found["facts"][1]["head_label"] == "two words"
    few = service.entity(SCRIPT, k=1)
    assert (few["num_facts"], few["facts"]) == (3, found["facts"][:1])


def test_relations_and_their_facts(service: Service) -> None:
    assert service.relations()["relations"] == [
        {"relation": "next", "facts": 8},
        {"relation": "is <b>", "facts": 10},
    ]


def test_a_vector_is_the_models_row(service: Service) -> None:
    assert service.vectors("p7")["vector"] == [7.0, 0.0]
    assert service.vectors("one") == {
        "run": "odd",
        "entity": "p1",
        "label": "one",
        "vector": [1.0, 0.0],
    }


def test_what_is_missing_is_discovered(service: Service) -> None:
    (best,) = service.discover("next", k=1)["facts"]
    # all others score -1 alike, and the first of them comes first; p8 heads nothing
    assert (best["head"], best["tail"], best["score"]) == ("a/b?c#d&e", "p6", -1.0)


def test_a_check_ends_what_takes_long(service: Service) -> None:
    class OverError(Exception):
        pass

    def over() -> None:
        raise OverError

    with pytest.raises(OverError):
        service.discover("next", check=over)
    with pytest.raises(OverError):
        service.predict_many([("p1", "next", None)], check=over)


def test_can_answer_is_what_predict_does_not_refuse(service: Service) -> None:
    heads = [None, "p1", "one", "twin", "nobody", ""]
    asked = product(heads, [None, "next", "nothing"], heads, (0, 1, 1000, 1001), ("mark", "hide"))
    refused = 0
    for head, relation, tail, k, known in asked:
        try:
            service.predict(head=head, relation=relation, tail=tail, k=k, known=known)
            answered = True
        except HaleError:
            answered = False
        assert service.can_answer((head, relation, tail), k=k, known=known) is answered
        refused += not answered
    assert 0 < refused < 6 * 3 * 6 * 4 * 2


@pytest.mark.parametrize("k", [0, -1, 1001])
def test_no_question_has_more_answers_than_are_allowed(service: Service, k: int) -> None:
    asked = [
        lambda: service.search("p", k=k),
        lambda: service.entity("p1", k=k),
        lambda: service.predict(head="p1", relation="next", k=k),
        lambda: service.predict_many([("p1", "next", None)], k=k),
        lambda: service.discover("next", k=k),
        lambda: service.neighbors("p1", k=k),
        lambda: service.why("p1", "next", "p2", k=k),
    ]
    for question in asked:
        with pytest.raises(InputError, match="At most 1,000" if k > 1 else "at least 1, got"):
            question()


def test_nor_more_queries_or_triples(service: Service) -> None:
    with pytest.raises(InputError, match="At most 1,000 queries at a time, got 1,001"):
        service.predict_many([("p1", "next", None)] * 1001)
    with pytest.raises(InputError, match="At most 1,000 triples at a time, got 1,001"):
        service.classify([("p1", "next", "p2")] * 1001)
    assert service.predict_many([])["queries"] == []


def test_a_service_over_a_run_in_memory_has_the_graphs_name(service: Service) -> None:
    service.run.path = None
    assert Service(service.run).run_info()["run"] == "odd"
    assert Service(service.run).run_info()["entities"] == len(NAMES)


def test_triples_are_judged_in_parts_with_a_check_between(service: Service) -> None:
    triples = [(NAMES[i % 10], "next", NAMES[(3 * i + i // 10) % 10]) for i in range(600)]
    checks: list[int] = []
    told = service.classify(triples, check=lambda: checks.append(1))
    assert len(checks) == 3  # 256, 256, 88
    whole = classify(service.run, triples)
    for one, other in zip(told["triples"], whole.as_dicts(), strict=True):
        assert one == {**other, "probability": pytest.approx(other["probability"])}
    assert service.classify([])["triples"] == []
    with pytest.raises(KeyboardInterrupt):
        service.classify(triples, check=_given_up)


def _given_up() -> None:
    raise KeyboardInterrupt

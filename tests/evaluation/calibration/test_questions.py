from __future__ import annotations

import dataclasses

import numpy as np

from hale.data.graph import SPLITS
from hale.evaluation.calibration.questions import answers_shown, questions_of, triples_of
from hale.evaluation.calibration.standing import Standings
from tests.evaluation.calibration.urns import urns


def test_as_many_questions_lack_nothing_as_lack_a_fact() -> None:
    run, _ = urns(400)
    standings = Standings(run)
    found = questions_of(run.graph, standings, "valid", seed=0, most=50)
    tails = found.relations == 0  # and 2 asks for heads
    assert (found.lacking & tails).sum() == 50
    assert (~found.lacking & tails).sum() == 50
    assert set(found.given[found.lacking & tails]) <= set(run.graph.valid[:, 0])
    assert set(found.given[~found.lacking & tails]) <= set(run.graph.train[:, 0])
    assert len(set(found.given[tails].tolist())) == 100, "each is asked once"
    # every value has been drawn for a held-out given: no question for heads lacks nothing
    values = set(run.graph.valid[:, 2].tolist())
    heads = set(found.given[found.lacking & ~tails].tolist())
    assert heads == values
    assert not heads & set(found.given[~found.lacking & ~tails].tolist())


def test_other_seeds_draw_others_and_the_same_the_same() -> None:
    run, _ = urns(400)
    standings = Standings(run)
    one, again, other = (
        questions_of(run.graph, standings, "valid", seed=seed, most=20) for seed in (0, 0, 1)
    )
    assert one.given.tolist() == again.given.tolist()
    assert one.given.tolist() != other.given.tolist()


def test_hits_are_the_facts_of_the_split_and_test_facts_do_not_count() -> None:
    run, _ = urns(400)
    graph, standings = run.graph, Standings(run)
    asked = questions_of(graph, standings, "valid", seed=0)
    lists = standings.lists(asked.given, asked.relations)
    shown = answers_shown(graph, standings, asked, lists, "valid")
    triples = triples_of(lists, shown.question, shown.answers, 2)
    held = {split: set(map(tuple, graph.split(split).tolist())) for split in ("valid", "test")}
    facts = [tuple(triple) for triple in triples.tolist()]
    assert shown.hits.tolist() == [fact in held["valid"] for fact in facts]
    assert not any(fact in held["test"] for fact in facts)
    listed = np.argwhere(lists.scores > -np.inf)
    every = triples_of(lists, listed[:, 0], lists.entities[tuple(listed.T)], 2).tolist()
    gone = [fact for fact in map(tuple, every) if fact not in set(facts)]
    assert gone
    assert set(gone) <= held["test"], "nothing else was left out"


def test_other_test_facts_that_are_not_listed_change_nothing() -> None:
    """Those that are listed are left out, and no more of test is looked at."""
    run, _ = urns(400)
    changed = dataclasses.replace(run.graph, test=run.graph.test[:0])
    standings = Standings(run)
    asked, again = (
        questions_of(graph, standings, "valid", seed=0) for graph in (run.graph, changed)
    )
    np.testing.assert_array_equal(asked.given, again.given)
    lists = standings.lists(asked.given, asked.relations)
    shown = answers_shown(run.graph, standings, asked, lists, "valid")
    more = answers_shown(changed, standings, asked, lists, "valid")
    codes = run.graph.split_index.codes(triples_of(lists, more.question, more.answers, 2))
    kept = codes != SPLITS.index("test")
    assert not kept.all()
    np.testing.assert_array_equal(more.features[kept], shown.features)
    np.testing.assert_array_equal(more.hits[kept], shown.hits)
    assert not more.hits[~kept].any()

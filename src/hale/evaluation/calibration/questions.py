"""Questions: those that probabilities are fitted on, and which of their answers are true."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import SPLITS, Graph, Split
from hale.data.keys import Ids, pair_keys, pairs_of
from hale.evaluation.calibration.listing import Lists
from hale.evaluation.calibration.standing import LISTED, Standings

Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]

# Questions of each direction that lack a fact; as many more lack none. Two seconds at 10^5
# entities.
MOST = 2000


@dataclass(frozen=True)
class Questions:
    """Queries (n,), (n,), the relation r + R asking for heads, and which lack a held-out fact."""

    given: Ids
    relations: Ids
    lacking: Labels


@dataclass(frozen=True)
class Shown:
    """Answers to questions, one a row, that count as hits or misses.

    ``question`` (m,) tells whose they are, ``answers`` (m,) the entities, ``ranks`` (m,) their
    places from 1 on, ``hits`` (m,) whether the held-out split holds the fact, ``lacking`` (m,)
    whether their question lacks one.
    """

    question: Ids
    relations: Ids
    answers: Ids
    ranks: Ids
    hits: Labels
    lacking: Labels
    features: Floats  # (m, F)

    def of(self, questions: Labels) -> Shown:
        """The answers to some of all questions (n,)."""
        rows = np.flatnonzero(questions[self.question])
        return Shown(*(getattr(self, part.name)[rows] for part in fields(self)))


def questions_of(
    graph: Graph, standings: Standings, split: Split, *, seed: int, most: int = MOST
) -> Questions:
    """Questions that lack a fact of a held-out split, and as many that lack none.

    The first are the queries of its facts, each once, at most ``most`` of each direction, drawn
    evenly. To each comes one of the same relation and direction, drawn evenly from the queries of
    train that lack no such fact, without repeats and as far as there are any.
    """
    draws = np.random.default_rng(seed)
    num_entities, num_relations = graph.size
    sizes = (num_entities, 2 * num_relations)
    both = graph.both_directions(graph.split(split))
    every = np.unique(pair_keys(both[:, 0], both[:, 1], sizes))
    directions = pairs_of(every, sizes[1])[1] >= num_relations
    lacking = np.concatenate(
        [draws.permutation(every[directions == way])[:most] for way in (False, True)]
    )
    relations = pairs_of(lacking, sizes[1])[1]
    complete = [lacking[:0]]
    assert standings.known.index is not None  # one split has one index
    known = standings.known.index.keys
    order = np.argsort(known % sizes[1], kind="stable")
    ends = np.cumsum(np.bincount(known % sizes[1], minlength=sizes[1]))
    for relation, count in zip(*np.unique(relations, return_counts=True), strict=True):
        keys = known[order[ends[relation - 1] if relation else 0 : ends[relation]]]
        keys = keys[~np.isin(keys, every)]
        complete.append(draws.choice(keys, min(int(count), len(keys)), replace=False))
    keys = np.concatenate([lacking, *complete])
    given, relations = pairs_of(keys, sizes[1])
    return Questions(given, relations, np.arange(len(keys)) < len(lacking))


def answers_shown(
    graph: Graph, standings: Standings, asked: Questions, lists: Lists, split: Split
) -> Shown:
    """The LISTED first answers of each list, with what the held-out split says of them.

    A fact of another split is neither hit nor miss: it is left out. What no split holds is a miss,
    though it may be true (the graph is open).
    """
    rows, places = np.nonzero(lists.scores[:, :LISTED] > -np.inf)
    answers = lists.entities[rows, places]
    codes = graph.split_index.codes(triples_of(lists, rows, answers, standings.num_relations))
    wanted = SPLITS.index(split)
    kept = np.flatnonzero((codes == wanted) | (codes < 0))
    rows, answers = rows[kept], answers[kept]
    return Shown(
        question=rows,
        relations=lists.relations[rows],
        answers=answers,
        ranks=places[kept] + 1,
        hits=codes[kept] == wanted,
        lacking=asked.lacking[rows],
        features=standings.stand(lists, rows, answers).features,
    )


def triples_of(lists: Lists, rows: Ids, answers: Ids, num_relations: int) -> Ids:
    """Answers (m,) to the questions ``rows`` (m,) as triples read from head to tail: (m, 3)."""
    given, relations = lists.given[rows], lists.relations[rows]
    asks_head = relations >= num_relations
    heads, tails = np.where(asks_head, answers, given), np.where(asks_head, given, answers)
    return np.stack([heads, relations % num_relations, tails], axis=1)

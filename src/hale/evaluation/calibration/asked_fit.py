"""Asked: the probability of an answer, learned from the answers to questions like it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph, Split
from hale.data.keys import Ids
from hale.errors import InputError
from hale.evaluation.calibration.listing import Lists
from hale.evaluation.calibration.logistic import sigmoid
from hale.evaluation.calibration.pooled import Pooled
from hale.evaluation.calibration.questions import Questions, Shown, answers_shown, questions_of
from hale.evaluation.calibration.standing import FEATURES, LISTED, Standings

Floats = NDArray[np.float64]

# Facts that a relation's share of answers outside its candidates is mixed with: the share of all.
SUPPOSED = 10


@dataclass(frozen=True)
class AskedFit:
    """p(answer is a held-out fact | where it stands), with a departure for each directed relation.

    - ``pooled`` was fitted on all questions. A fact that train holds is judged as if it were
      hidden; its question then lacks one for certain, so it is judged by ``hidden``, fitted on
      the questions that lack one.
    - Beyond the LISTED best, p falls as 1 / rank: so deep nothing was fitted.
    - Of a functional relation (at most one answer to a question) the answers share one unit: the
      best LISTED are divided by their sum where it passes 1, and what they leave is the most that
      all others have together.
    - An entity that is no candidate gets at most its part of ``outside`` (by directed relation,
      or of all), the share of held-out facts whose answer is no candidate.
    """

    pooled: Pooled
    hidden: Pooled
    outside: Mapping[int, float]
    outside_all: float
    lacking: int  # questions of each kind that were fitted
    complete: int

    @classmethod
    def of(cls, standings: Standings, shown: Shown, facts: Ids) -> AskedFit:
        """Fit what was shown for some questions; ``facts`` (n, 3) are held out, both ways."""
        if not tells(shown):
            raise InputError(
                "The validation triples tell nothing about probabilities: of the answers listed "
                f"for their questions {'all' if len(shown.hits) and shown.hits.all() else 'none'} "
                "are facts. Hold out more facts, or train longer."
            )
        missed = ~standings.may_answer(facts[:, 1], facts[:, 2])
        overall = (missed.sum() + 1) / (len(facts) + 2)
        asked, which = np.unique(facts[:, 1], return_inverse=True)
        shares = np.bincount(which, missed) + SUPPOSED * overall
        shares /= np.bincount(which) + SUPPOSED
        outside = dict(zip(asked.tolist(), shares.tolist(), strict=True))
        lacking = np.flatnonzero(shown.lacking)
        return cls(
            pooled=Pooled.fit(shown.features, shown.hits, shown.relations),
            hidden=Pooled.fit(
                shown.features[lacking], shown.hits[lacking], shown.relations[lacking]
            ),
            outside=outside,
            outside_all=float(overall),
            lacking=len(np.unique(shown.question[lacking])),
            complete=len(np.unique(shown.question[~shown.lacking])),
        )

    def probabilities(self, standings: Standings, lists: Lists, rows: Ids, answers: Ids) -> Floats:
        """Of answers (m,) to the questions ``rows`` (m,) of some lists: -> (m,)."""
        relations = lists.relations[rows]
        stand = standings.stand(lists, rows, answers)
        logits = self.pooled.logits(stand.features, relations)
        held = np.flatnonzero(stand.held)
        logits[held] = self.hidden.logits(stand.features[held], relations[held])
        chances = sigmoid(logits) * np.minimum(1.0, LISTED / stand.ranks)
        count = standings.num_candidates(relations)
        one = np.flatnonzero(standings.cardinality.functional[relations])
        if len(one):
            questions, which = np.unique(rows[one], return_inverse=True)
            listed = self._sum_listed(standings, lists, questions)[which]
            among = (stand.places[one] >= 0) & (stand.places[one] < LISTED)
            within = stand.ranks[one] <= LISTED  # a known fact, beside those listed
            total = np.where(among, listed, listed + chances[one])
            left = np.maximum(0.0, 1 - listed) / np.maximum(1, count[one] - LISTED)
            chances[one] = np.where(
                among | within,
                chances[one] / np.maximum(1.0, total),
                np.minimum(chances[one], left),
            )
        stranger = np.flatnonzero(~standings.may_answer(relations, answers))
        shares = [self.outside.get(r, self.outside_all) for r in relations[stranger].tolist()]
        most = np.array(shares) / np.maximum(1, standings.num_entities - count[stranger])
        chances[stranger] = np.minimum(chances[stranger], most)
        return chances

    def _sum_listed(self, standings: Standings, lists: Lists, questions: Ids) -> Floats:
        """The sum of the chances of the LISTED best answers of questions (q,): -> (q,)."""
        rows, places = np.nonzero(lists.scores[questions, :LISTED] > -np.inf)
        answers = lists.entities[questions[rows], places]
        stand = standings.stand(lists, questions[rows], answers)
        chances = sigmoid(self.pooled.logits(stand.features, lists.relations[questions[rows]]))
        return np.bincount(rows, chances, len(questions)).astype(np.float64)

    def as_dict(self, graph: Graph) -> dict[str, Any]:
        """Ready for JSON, with the relations by name and direction."""
        nothing = np.zeros(len(FEATURES))
        return {
            "features": list(FEATURES),
            "lacking": self.lacking,
            "complete": self.complete,
            "outside": self.outside_all,
            "all": self.pooled.as_dict(),
            "hidden": self.hidden.as_dict(),
            "by_relation": [
                {
                    **_named(graph, relation),
                    "outside": self.outside.get(relation, self.outside_all),
                    "all": list(self.pooled.own.get(relation, nothing)),
                    "hidden": list(self.hidden.own.get(relation, nothing)),
                }
                for relation in sorted({*self.pooled.own, *self.outside})
            ],
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], graph: Graph) -> AskedFit:
        """Back from ``as_dict``."""
        if values["features"] != list(FEATURES):
            raise ValueError("the features are not those that this hale takes")
        own = {_number(graph, row): row for row in values["by_relation"]}
        return cls(
            pooled=Pooled.from_dict(values["all"], {n: row["all"] for n, row in own.items()}),
            hidden=Pooled.from_dict(values["hidden"], {n: row["hidden"] for n, row in own.items()}),
            outside={number: float(row["outside"]) for number, row in own.items()},
            outside_all=float(values["outside"]),
            lacking=int(values["lacking"]),
            complete=int(values["complete"]),
        )


@dataclass(frozen=True)
class Asked:
    """Questions of a held-out split with their lists and the answers that count."""

    questions: Questions
    lists: Lists
    shown: Shown
    facts: Ids  # (n, 3), both ways


def tells(shown: Shown) -> bool:
    """Whether some answers to questions that lack a fact are facts and some are not."""
    hits = shown.hits[shown.lacking]
    return bool(hits.any() and not hits.all())


def ask(graph: Graph, standings: Standings, split: Split, *, seed: int = 0, **most: int) -> Asked:
    """Ask the questions of a held-out split as predictions do, and tell hits from misses."""
    questions = questions_of(graph, standings, split, seed=seed, **most)
    lists = standings.lists(questions.given, questions.relations)
    shown = answers_shown(graph, standings, questions, lists, split)
    return Asked(questions, lists, shown, graph.both_directions(graph.split(split)))


def _named(graph: Graph, relation: int) -> dict[str, str]:
    count = len(graph.relations)
    return {
        "relation": graph.relations[relation % count],
        "asks": "tail" if relation < count else "head",
    }


def _number(graph: Graph, row: dict[str, Any]) -> int:
    shift = {"tail": 0, "head": len(graph.relations)}[row["asks"]]
    return graph.relations.id(row["relation"]) + shift

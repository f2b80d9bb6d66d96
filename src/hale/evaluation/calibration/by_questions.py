"""A calibration on the answers to questions, as predictions ask them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph
from hale.data.keys import Codes, Ids, pair_keys, pairs_of
from hale.evaluation.calibration.asked_fit import Asked, AskedFit, ask, tells
from hale.evaluation.calibration.base import Calibration, Judge, Judgement
from hale.evaluation.calibration.listing import Listed, Listing
from hale.evaluation.calibration.scores import triple_scores
from hale.evaluation.calibration.standing import LISTED, Standings
from hale.evaluation.reliability import Reliability
from hale.runs.run import Run

Floats = NDArray[np.float64]

SHOWN = 10  # answers to a question, where reliability is told
TRUE = 0.5  # a claim that is more likely than not counts as true
CLAIMS = 1 << 14  # claims that are ranked at once


@dataclass(frozen=True, repr=False)
class ByQuestions(Calibration):
    """Of answers like this one, the share that are facts held out, the questions being those of
    ``questions_of``: one lacks a fact, the next lacks none.

    The graph is open: an answer that it does not hold counts as false, though it may be true. So p
    is rather too low than too high where much is missing.
    """

    kind: ClassVar[str] = "questions"
    meaning: ClassVar[str] = (
        "p: of answers like this one, the share that are held-out facts, where every second "
        "question lacks a fact. What the graph does not hold counts as false, though it may be "
        "true."
    )
    of_train: ClassVar[str] = "A fact that train holds is judged as if it were hidden."
    command: ClassVar[str] = ""

    fit: AskedFit
    seed: int
    reliability: Reliability | None  # on halves that were not fitted; None for one question

    def judge(self, run: Run) -> Judge:
        """Ready to be asked about the run that it was made for."""
        return QuestionJudge(self.fit, run)

    def as_dict(self, graph: Graph) -> dict[str, Any]:
        """Ready for JSON, with the relations by name."""
        return {
            "kind": self.kind,
            "meaning": self.meaning,
            "step": self.step,
            "weights": self.weights,
            "seed": self.seed,
            "reliability": None if self.reliability is None else self.reliability.as_dict(),
            "fit": self.fit.as_dict(graph),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], graph: Graph) -> ByQuestions:
        """Back from ``as_dict``."""
        told = values["reliability"]
        return cls(
            step=int(values["step"]),
            weights=str(values["weights"]),
            fit=AskedFit.from_dict(values["fit"], graph),
            seed=int(values["seed"]),
            reliability=None if told is None else Reliability.from_dict(told),
        )


class QuestionJudge(Judge):
    """By where an answer stands among the candidates of its question."""

    def __init__(self, fit: AskedFit, run: Run) -> None:
        self.fit, self.run = fit, run

    @cached_property
    def standings(self) -> Standings:
        """Made when first asked for: it looks at all of train."""
        return Standings(self.run)

    def listing(self, given: Ids, relations: Ids, depth: int) -> Listing:
        """As many as are shown, and those that the features look at."""
        return self.standings.listing(given, relations, depth=max(LISTED, depth))

    def answers(self, triples: Ids, asked: Codes, listed: Listed | None = None) -> Floats:
        """Each as an answer to its question; relations that were asked for as claims."""
        found = np.empty(len(triples))
        claims = np.flatnonzero(asked == 1)
        if len(claims):
            found[claims] = self._claimed(triples[claims])
        rest = np.flatnonzero(asked != 1)
        if len(rest):
            given, relations, answers = self._questions(triples[rest], asked[rest] == 0)
            if listed is None:
                lists, rows = self._listed(given, relations)
            else:
                lists, rows = listed.lists, listed.rows[rest]
            found[rest] = self.fit.probabilities(self.standings, lists, rows, answers)
        return found

    def _listed(self, given: Ids, relations: Ids) -> Listed:
        """The lists of questions (m,), (m,), each made once."""
        sizes = (self.standings.num_entities, 2 * self.standings.num_relations)
        keys, rows, counts = np.unique(
            pair_keys(given, relations, sizes), return_inverse=True, return_counts=True
        )
        # As many as are shown are listed; one of a limited choice may stand deeper, and is then
        # counted (``num_above``): what may answer is limited by who asks, not what is true.
        depth = max(LISTED, int(counts.max()))
        return Listed(self.standings.lists(*pairs_of(keys, sizes[1]), depth=depth), rows)

    def claims(self, triples: Ids) -> Judgement:
        """Asked as the question with fewer answers; true if train holds it, or if more likely
        than not.
        """
        scores, probabilities = triple_scores(self.run.model, triples), self._claimed(triples)
        heads, relations, tails = triples.T
        held = self.standings.known.holds(heads, relations, tails)
        return Judgement(scores, probabilities, held | (probabilities >= TRUE))

    def _claimed(self, triples: Ids) -> Floats:
        """A claim (h, r, t) answers two questions; the one with fewer answers, by what train has
        on average, tells more (section of a package, not packages of a section).
        """
        mean = self.standings.cardinality.mean
        back = self.standings.back(triples[:, 1])
        asks_head = mean[back] < mean[triples[:, 1]]
        found = np.empty(len(triples))
        for start in range(0, len(triples), CLAIMS):
            part = slice(start, start + CLAIMS)
            given, relations, answers = self._questions(triples[part], asks_head[part])
            lists = self.standings.lists(given, relations)
            rows = np.arange(len(given))
            found[part] = self.fit.probabilities(self.standings, lists, rows, answers)
        return found

    def _questions(self, triples: Ids, asks_head: NDArray[np.bool_]) -> tuple[Ids, Ids, Ids]:
        """Triples (n, 3) as given entities, relations below 2R, and answers: (n,) each."""
        heads, relations, tails = triples.T
        return (
            np.where(asks_head, tails, heads),
            relations + asks_head * self.standings.num_relations,
            np.where(asks_head, heads, tails),
        )


def fit_questions(run: Run, *, seed: int) -> tuple[AskedFit, Reliability | None]:
    """Fit the answers to the questions of valid, and tell how reliable they are on halves."""
    standings = Standings(run)
    asked = ask(run.graph, standings, "valid", seed=seed)
    fit = AskedFit.of(standings, asked.shown, asked.facts)
    return fit, halves(standings, asked, seed=seed)


def halves(standings: Standings, asked: Asked, *, seed: int) -> Reliability | None:
    """The reliability of shown answers, each half of the questions judged by the other's fit.

    None where a half has no answers that are facts, or nothing else.
    """
    first = np.random.default_rng(seed).random(len(asked.questions.given)) < 0.5
    labels, probabilities = [], []
    for fitted in (first, ~first):
        shown, judged = asked.shown.of(fitted), asked.shown.of(~fitted)
        if not tells(shown) or not len(judged.hits):
            return None
        fit = AskedFit.of(standings, shown, asked.facts)
        found = fit.probabilities(standings, asked.lists, judged.question, judged.answers)
        top = judged.ranks <= SHOWN
        labels.append(judged.hits[top])
        probabilities.append(found[top])
    return Reliability.of(np.concatenate(labels), np.concatenate(probabilities))

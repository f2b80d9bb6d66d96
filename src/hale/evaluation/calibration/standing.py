"""Standing: where an answer stands among the candidates of its question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray

from hale.data.keys import Ids, pair_keys, pairs_of
from hale.evaluation.calibration.cardinality import Cardinality
from hale.evaluation.calibration.listing import Listing, Lists
from hale.evaluation.calibration.tally import Tally
from hale.evaluation.candidate_scores import BestOf, columns_of, score_candidates
from hale.evaluation.candidates import Candidates
from hale.evaluation.cardinality_rule import rule_of
from hale.evaluation.spans import chunk_size
from hale.objectives.scoring import scoring_of
from hale.runs.run import Run

Floats = NDArray[np.float64]

# The best answers of a question that are looked at: twice what is shown unless asked otherwise.
LISTED = 20
# What is said of an answer, in this order.
FEATURES = (
    "one",
    "score",  # as trained: activated, in nats
    "score back",  # of the same fact, asked the other way
    "log rank",
    "gap",  # to the best other answer
    "log odds",  # of the answer in a softmax over the best LISTED
    "given lacks",  # ln odds that the given entity lacks an answer, by how many it has
    "given has none",
    "answer lacks",  # the same of the answer, asked the other way
    "answer has none",
    "turned",  # whether train holds the fact with head and tail exchanged
)
FAR = 10.0  # nats beyond which a difference tells no more
CHUNK = 1 << 16  # pairs that are scored at once


@dataclass(frozen=True)
class Stand:
    """How answers (m,) stand."""

    features: Floats  # (m, F)
    ranks: Ids
    places: Ids  # in the lists, -1 in none
    held: NDArray[np.bool_]  # by train


class Standings:
    """Lists of a run's best answers, and what they say of an answer.

    Candidates are those of predictions. Answers that train knows are left out, for a question is
    about those that it does not; facts of valid and test are candidates like any other.
    """

    def __init__(self, run: Run) -> None:
        self.model, self.scoring = run.model, scoring_of(run.settings)
        self.rule = rule_of(run)
        self.known = run.graph.known("train")
        self.candidates = Candidates(run.graph)
        self.cardinality = Cardinality(run.graph)
        self.num_entities, self.num_relations = run.graph.size
        self.device = self.model.entities().device

    def back(self, relations: Ids) -> Ids:
        """The relations that ask the other way: (n,) -> (n,)."""
        turned: Ids = (relations + self.num_relations) % (2 * self.num_relations)
        return turned

    def listing(self, given: Ids, relations: Ids, *, depth: int = LISTED) -> Listing:
        """The best ``depth`` candidates of questions (n,), (n,), of blocks that are handed on."""
        best = BestOf(depth, given, relations, self.rule, self.model.entity.group)
        return Listing(given, relations, depth, known=self.known, best=best, trained=self._trained)

    @torch.inference_mode()
    def lists(self, given: Ids, relations: Ids, *, depth: int = LISTED) -> Lists:
        """The best ``depth`` candidates of questions (n,), (n,), in bounded memory."""
        listing = self.listing(given, relations, depth=depth)
        for block in score_candidates(
            self.model, given, relations, self.candidates, known=self.known
        ):
            listing.add(block)
        return listing.lists()

    @torch.inference_mode()
    def num_above(self, given: Ids, relations: Ids, answers: Ids) -> Ids:
        """How many candidates stand above answers (m,) to questions (m,), (m,): -> (m,).

        A question is asked once, however many of the answers are to it. Ranks of a group that share
        the candidates count those they hold, and add up.
        """
        sizes = (self.num_entities, 2 * self.num_relations)
        keys, rows = np.unique(pair_keys(given, relations, sizes), return_inverse=True)
        asked = pairs_of(keys, sizes[1])
        scores = self._score(given, relations, answers)
        free, taken = self._levels(given, relations, answers, scores)
        tallies = (Tally(rows, free), Tally(rows, taken))
        itself = np.zeros(len(rows), dtype=np.int64)
        asked_for = torch.from_numpy(answers).to(self.device)
        for block in score_candidates(self.model, *asked, self.candidates, known=self.known):
            block.scores.index_put_(block.known, block.scores.new_tensor(-torch.inf))
            entities = block.entities.cpu().numpy()
            marks = None
            if self.rule is not None:
                marks = self.rule.marks(asked[0][block.rows], asked[1][block.rows], entities)
            if marks is None:
                tallies[0].add(block.rows, block.scores)
            else:
                tallies[0].add(block.rows, block.scores.masked_fill(marks, -torch.inf))
                tallies[1].add(block.rows, block.scores.masked_fill(~marks, -torch.inf))
            # An answer is not above itself, though its score here may differ in the last digit.
            place = np.full(len(keys), -1)
            place[block.rows] = np.arange(len(block.rows))
            at, there = columns_of(block.entities, asked_for)
            mine = np.flatnonzero((place[rows] >= 0) & there.cpu().numpy())
            own = block.scores[place[rows[mine]], at.cpu().numpy()[mine]].float().cpu().numpy()
            itself[mine] += own > scores[mine]
        above = torch.from_numpy(tallies[0].counts() + tallies[1].counts() - itself)
        return self.model.entity.group.all_reduce(above).cpu().numpy()

    def _levels(
        self, given: Ids, relations: Ids, answers: Ids, scores: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What a candidate, free or taken, must score to be above an answer: (m,), (m,)."""
        if self.rule is None:
            return scores, scores
        triples = np.stack([given, relations, answers], axis=1)
        free, taken = self.rule.levels(triples, torch.from_numpy(scores).to(self.device))
        return free.cpu().numpy(), taken.cpu().numpy()

    def stand(self, lists: Lists, rows: Ids, answers: Ids) -> Stand:
        """How answers (m,) to the questions ``rows`` (m,) of some lists stand.

        One that train holds is judged as if it did not.
        """
        size = chunk_size(lists.scores.shape[1])
        starts = range(0, max(1, len(rows)), size)
        parts = [self._stand(lists, rows[i : i + size], answers[i : i + size]) for i in starts]
        columns = ([getattr(part, name.name) for part in parts] for name in fields(Stand))
        return Stand(*(np.concatenate(column) for column in columns))

    def _stand(self, lists: Lists, rows: Ids, answers: Ids) -> Stand:
        places = _places(lists, rows, answers)
        given, relations = lists.given[rows], lists.relations[rows]
        scores = lists.scores[rows, places]
        away = np.flatnonzero(places < 0)
        if len(away):
            pairs = given[away], relations[away], answers[away]
            alone = self._score(*pairs)[:, None]
            scores[away] = self._trained(pairs[0], pairs[1], pairs[2][:, None], alone)[:, 0]
        ranks = places + 1
        beyond = (lists.scores[rows[away]] > scores[away, None]).sum(axis=1)
        deep = np.flatnonzero(beyond == lists.scores.shape[1])  # below all that are listed
        if len(deep):
            far = away[deep]
            above = self.num_above(given[far], relations[far], answers[far])
            beyond[deep] = np.maximum(beyond[deep], above)
        ranks[away] = 1 + beyond
        best, total = _others(lists, rows, places)
        single = np.isneginf(best)
        back = self.back(relations)
        held = self.known.holds(given, relations, answers)
        answer_known = self.known.counts(answers, back) - held
        back_scores = self._score(answers, back, given)[:, None]
        given_known = lists.known[rows] - held
        odds = self.cardinality.odds
        features = np.stack(
            [
                np.ones(len(rows)),
                scores,
                self._trained(answers, back, given[:, None], back_scores)[:, 0],
                np.log(np.minimum(ranks, LISTED)),
                np.clip(np.where(single, 0.0, scores - np.where(single, 0.0, best)), -FAR, FAR),
                np.clip(np.where(single, 0.0, scores - np.where(single, 0.0, total)), -FAR, FAR),
                odds(relations, given_known),
                given_known == 0,
                odds(back, answer_known),
                answer_known == 0,
                self.known.holds(answers, relations, given),
            ],
            axis=1,
        )
        return Stand(features, ranks, places, held)

    def num_candidates(self, relations: Ids) -> Ids:
        """How many entities may answer queries of relations: (n,) -> (n,)."""
        asked, which = np.unique(relations, return_inverse=True)
        every = [self.candidates.of(relation) for relation in asked.tolist()]
        counts = [self.num_entities if ids is None else len(ids) for ids in every]
        return np.array(counts, dtype=np.int64)[which]

    def may_answer(self, relations: Ids, answers: Ids) -> NDArray[np.bool_]:
        """Which entities are candidates of their relation: (n,), (n,) -> (n,)."""
        found = np.ones(len(answers), dtype=bool)
        for relation in np.unique(relations).tolist():
            ids = self.candidates.of(relation)
            if ids is not None:
                mine = relations == relation
                found[mine] = np.isin(answers[mine], ids)
        return found

    @torch.inference_mode()
    def _score(self, given: Ids, relations: Ids, answers: Ids) -> NDArray[np.float32]:
        """The scores of single facts: (n,) -> (n,)."""
        found = np.empty(len(given), dtype=np.float32)
        for part in _chunks(len(given)):
            ids = (torch.tensor(x[part], device=self.device) for x in (given, relations, answers))
            found[part] = self.model.score(*ids).float().cpu().numpy()
        return found

    @torch.inference_mode()
    def _trained(
        self, given: Ids, relations: Ids, answers: Ids, scores: NDArray[np.float32]
    ) -> Floats:
        """The scores that training saw, f = -h(c_r d^2), from the model's: (n, K) -> (n, K).

        Less what the run's rule takes off.
        """
        found = np.empty(scores.shape)
        for part in _chunks(len(given)):
            head, relation, tail = (
                torch.tensor(x[part], device=self.device) for x in (given, relations, answers)
            )
            values = torch.tensor(scores[part], device=self.device)
            bias = self.model.bias(head, tail)
            scale = self.scoring.scale(self.model, relation)
            trained = self.scoring.activate(self.model, values - bias, scale) + bias
            found[part] = trained.double().cpu().numpy()
        if self.rule is not None:
            width = answers.shape[1]
            asked = np.repeat(given, width), np.repeat(relations, width), answers.reshape(-1)
            found -= self.rule.nats(*asked).reshape(found.shape)
        return np.where(np.isneginf(scores), -np.inf, found)


def _places(lists: Lists, rows: Ids, answers: Ids) -> Ids:
    """Where answers stand in their lists, from 0 on; -1 where they do not: (m,), (m,) -> (m,)."""
    same = (lists.entities[rows] == answers[:, None]) & (lists.scores[rows] > -np.inf)
    return np.where(same.any(axis=1), same.argmax(axis=1), -1)


def _others(lists: Lists, rows: Ids, places: Ids) -> tuple[Floats, Floats]:
    """The best, and the log of the sum of exp, of LISTED - 1 other answers: -> (m,), (m,)."""
    scores = lists.scores[rows, :LISTED]
    inside = (places >= 0) & (places < scores.shape[1])
    out = np.where(inside, places, LISTED - 1)
    mine = np.flatnonzero(out < scores.shape[1])
    scores[mine, out[mine]] = -np.inf
    best = scores.max(axis=1)
    base = np.where(np.isneginf(best), 0.0, best)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(scores - base[:, None]).sum(axis=1)) + base
    return best, total


def _chunks(count: int) -> Iterator[slice]:
    return (slice(start, start + CHUNK) for start in range(0, count, CHUNK))

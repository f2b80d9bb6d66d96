"""Scorer: the best answers to many queries at once, known ones left out or not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers
from hale.engine.topk import top
from hale.evaluation.candidate_scores import (
    CandidateScores,
    Onlooker,
    best_candidates,
    score_candidates,
)
from hale.evaluation.candidates import Candidates
from hale.evaluation.cardinality_rule import rule_of
from hale.evaluation.second_opinion import Advised
from hale.evaluation.spans import (
    by_vectors_alone,
    chunk_size,
    refuse_non_finite,
    spans_of,
    width_of,
)
from hale.models import Model
from hale.models.base import LAST
from hale.runs.run import Run

Marks = NDArray[np.bool_]

Scores = NDArray[np.float32]


class Scorer:
    """Scores of a run's model in blocks, and the best of them.

    ``chunk`` is how many queries are answered at once, each by a span of the entities after the
    other, so that memory stays the same however many there are of both (spans.CHUNK_ELEMENTS).
    What is left out, and an entity that is no candidate, is minus infinity.
    """

    def __init__(self, run: Run, candidates: Candidates) -> None:
        self.model: Model = run.model
        self.rule = rule_of(run)
        self.candidates = candidates
        self.scaled = run.settings.relation_scale
        self.device = self.model.entities().device
        num_entities, self.num_relations = self.model.size
        # A query for relations holds R triples of d numbers each while it is scored.
        widest = max(
            span.last - span.first for span in spans_of(0, num_entities, width_of(self.model))
        )
        self.chunk = chunk_size(max(widest, self.num_relations * self.model.dim))
        # Rounding takes a squared distance of next to nothing below zero.
        alone = by_vectors_alone(self.model)
        by_distance = alone and self.model.similarity == "l2" and self.model.tail_bias is None
        self.highest = 0.0 if by_distance else None

    def blocks(
        self, given: Ids, relations: Ids, without: KnownAnswers | None = None
    ) -> Iterator[CandidateScores]:
        """Scores of the candidates as answers (n,), (n,), block after block.

        Relation r + R asks for the heads of a tail. The answers ``without`` knows of are left out.
        """
        for block in score_candidates(self.model, given, relations, self.candidates, without):
            block.scores.index_put_(block.known, block.scores.new_tensor(-torch.inf))
            yield block

    def best_entities(
        self,
        given: Ids,
        relations: Ids,
        k: int,
        without: KnownAnswers | None = None,
        beside: Onlooker | None = None,
    ) -> Iterator[tuple[Ids, Scores, Ids]]:
        """The k best answers to a chunk of queries after the other: -> (b, j), (b, j), best first.

        Which of the queries they are comes first, (b,); see ``best_candidates``.
        """
        for rows, values, entities in best_candidates(
            self.model, given, relations, k, self.candidates, without, self.rule, beside
        ):
            yield rows, *self._told(values, entities)

    def relations(self, heads: Ids, tails: Ids, without: Marks) -> Tensor:
        """Scores of all relations between two entities: (B,), (B,) -> (B, R).

        Entry r is that of (h, r, t), read from head to tail. Distances are stretched by the
        relation's scale c_r, as in training: without it they do not compare between relations.
        What activation h, with a bound of its own for some relations, makes of c_r d^2 does not
        count: a bound tells how far others are pushed away, and whatever is far under a low bound
        would come before what is near under a high one. Relations that do not join such entities
        are left out, and those marked ``without`` (B, R).
        """
        shape = (len(heads), self.num_relations)
        head, tail = (self._tensor(x)[:, None].expand(shape).flatten() for x in (heads, tails))
        relation = torch.arange(shape[1], device=self.device).repeat(shape[0])
        scores = self.model.score(head, relation, tail)
        refuse_non_finite(scores)
        out = scores <= LAST / 2
        if self.scaled and self.model.by_distance:
            bias = self.model.bias(head, tail)
            if isinstance(self.model, Advised):  # what rules add is no distance
                bias = scores - self.model.inner.score(head, relation, tail) + bias
            scores = self.model.scale(relation) * (scores - bias) + bias
        out = out.reshape(shape) | self._tensor(without | ~self.candidates.join(heads, tails))
        return scores.reshape(shape).masked_fill(out, -torch.inf)

    def best(self, scores: Tensor, k: int) -> tuple[Scores, Ids]:
        """The k best of each row and their columns: (B, n) -> (B, k), (B, k), best first.

        What was left out fills the end of a row that has too few others, as minus infinity.
        """
        return self._told(*top(scores, k))

    def _told(self, values: Tensor, columns: Tensor) -> tuple[Scores, Ids]:
        if self.highest is not None:
            values = values.clamp_max(self.highest)
        values = values.masked_fill(values <= LAST / 2, -torch.inf)
        return values.float().cpu().numpy(), columns.cpu().numpy()

    def best_of_all(self, scores: Tensor, k: int) -> tuple[Scores, Ids]:
        """The k best of the whole table and their places in it: (B, n) -> (j,), (j,), j <= k.

        Place row * n + column; what was left out is not among them.
        """
        values, places = self.best(scores.view(1, -1), k)
        kept = values[0] > -np.inf
        return values[0, kept], places[0, kept]

    def best_facts(
        self, block: CandidateScores, heads: Ids, relation: int, k: int
    ) -> tuple[Scores, Scores, Ids]:
        """The k best facts of a block of one relation and heads (b,), known ones left out.

        -> (j,) scores, (j,) scores of where they stand, (j,) places as in ``best_of_all``. Facts of
        different heads compete here, so the rule looks at both ends: a tail that is taken stands
        back, and so does a head that is, as an answer to the tail: it has its value already.
        """
        values, places = self.best_of_all(block.scores, k)
        if self.rule is None:
            return values, values, places
        there, width = block.entities.cpu().numpy(), block.scores.shape[1]
        relations = np.full(len(heads), relation)
        tails = self.rule.marks(heads, relations, there)
        back = int(self.rule.back(relations[:1])[0])
        has = self.rule.known.counts(heads, relations) > 0
        ends = np.where(has, self.rule.deltas[back], 0.0)
        if tails is None and not ends.any():
            return values, values, places
        found: list[tuple[Scores, Scores, Ids]] = []
        for nats in np.unique(ends).tolist():
            rows = np.flatnonzero(ends == nats)
            mine = self._tensor(rows)
            for taken in (False, True) if tails is not None else (False,):
                scores = block.scores[mine]
                if tails is not None:
                    scores = scores.masked_fill(tails[mine] != taken, -torch.inf)
                values, places = self.best_of_all(scores, k)
                off = np.full(len(values), nats + taken * self.rule.deltas[relation])
                asked = np.full(len(values), relation)
                moved = self.rule.lowered(self._tensor(values), asked, off).cpu().numpy()
                row, column = np.divmod(places, width)
                found.append((values, moved, rows[row] * width + column))
        values, moved, places = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.lexsort((places, -moved))[:k]
        return values[order], moved[order], places[order]

    def _tensor(self, ids: Ids | Marks | Scores) -> Tensor:
        return torch.tensor(ids, device=self.device)

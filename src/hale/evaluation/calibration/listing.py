"""Listing: the best candidates of questions, taken from blocks of scores as they are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers
from hale.evaluation.candidate_scores import BestOf, CandidateScores, columns_of
from hale.models.base import LAST

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lists:
    """The best candidates of questions that train does not know as answers, best first.

    ``relations`` (n,) are below 2R, r + R asking for heads; ``known`` (n,) is how many answers of
    each question train knows. A place that no candidate fills has a score of minus infinity.
    """

    given: Ids
    relations: Ids
    known: Ids
    entities: Ids  # (n, K)
    scores: Floats  # (n, K), as trained


class Listed(NamedTuple):
    """Lists that are there already, and which of them is that of each answer (m,)."""

    lists: Lists
    rows: Ids


class Listing:
    """Lists in the making, from the blocks of ``score_candidates`` for the same questions.

    Whoever scores the candidates for another reason hands the blocks on, and they are scored once.
    ``trained`` makes the scores that training saw of the model's: (n,), (n,), (n, K), (n, K).
    """

    def __init__(
        self,
        given: Ids,
        relations: Ids,
        depth: int,
        *,
        known: KnownAnswers,
        best: BestOf,
        trained: Callable[[Ids, Ids, Ids, NDArray[np.float32]], Floats],
    ) -> None:
        self.given, self.relations, self.known = given, relations, known
        self._best, self._trained = best, trained
        self._entities = np.zeros((len(given), depth), dtype=np.int64)
        self._scores = np.full((len(given), depth), -np.inf, dtype=np.float32)
        self._pairs: tuple[Tensor, Tensor] | None = None

    @torch.inference_mode()
    def add(self, block: CandidateScores) -> None:
        """Take a block in; its scores are as they were when this returns."""
        place = self._places(block)
        kept = block.scores[place]
        block.scores.index_put_(place, block.scores.new_tensor(-torch.inf))
        found = self._best.add(block)
        block.scores.index_put_(place, kept)
        if found is not None:
            width = found[0].shape[1]
            self._scores[block.rows, :width] = found[0].float().cpu().numpy()
            self._entities[block.rows, :width] = found[1].cpu().numpy()

    def _places(self, block: CandidateScores) -> tuple[Tensor, Tensor]:
        """Rows and columns of a block that are answers train knows.

        The blocks of some questions come one after the other, so their answers are looked up once.
        """
        if self._pairs is None:
            pairs = self.known.of(self.given[block.rows], self.relations[block.rows])
            rows, answers = (torch.from_numpy(ids).to(block.scores.device) for ids in pairs)
            self._pairs = rows, answers
        rows, answers = self._pairs
        columns, there = columns_of(block.entities, answers)
        if block.last:
            self._pairs = None
        return rows[there], columns[there]

    def lists(self) -> Lists:
        """What was found, once all blocks are in."""
        scores = self._scores
        scores[scores <= LAST / 2] = -np.inf
        return Lists(
            given=self.given,
            relations=self.relations,
            known=self.known.counts(self.given, self.relations),
            entities=self._entities,
            scores=self._trained(self.given, self.relations, self._entities, scores),
        )

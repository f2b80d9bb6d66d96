"""Scoring: what a model makes of many queries at once, known facts left out or not."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.graph import Ids
from hale.engine.topk import top
from hale.errors import EvaluationError
from hale.evaluation.evaluator import CHUNK_ELEMENTS
from hale.models import Model

Pairs = tuple[Ids, Ids]  # (row, column) of scores to leave out, each pair once

Scores = NDArray[np.float32]

NONE: Pairs = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


class Scorer:
    """Scores of a model as tables, and the best of them.

    A table of scores holds about CHUNK_ELEMENTS numbers at most, so memory stays
    the same whatever the number of queries; ``chunk`` is how many fit. What is to
    be left out is set to minus infinity, so it never comes before what is not.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.device = model.entities().device
        num_entities, self.num_relations = model.size
        # A query for relations holds R triples of d numbers each while it is scored.
        widest = max(num_entities, self.num_relations * model.dim)
        self.chunk = max(1, CHUNK_ELEMENTS // widest)
        # Rounding takes a squared distance of next to nothing below zero.
        self.highest = 0.0 if model.similarity == "l2" and model.tail_bias is None else None

    def entities(self, given: Ids, relations: Ids, without: Pairs = NONE) -> Tensor:
        """Scores of all entities as answers: (B,), (B,) -> (B, N).

        Relation r + R asks for the heads of a tail.
        """
        scores = self.model.score_all(self._tensor(given), self._tensor(relations))
        return self._leave_out(scores, without)

    def relations(self, heads: Ids, tails: Ids, without: Pairs = NONE) -> Tensor:
        """Scores of all relations between two entities: (B,), (B,) -> (B, R).

        Entry r is score(h, r, t): the fact read forwards, from head to tail.
        """
        shape = (len(heads), self.num_relations)
        head, tail = (self._tensor(x)[:, None].expand(shape).flatten() for x in (heads, tails))
        relation = torch.arange(shape[1], device=self.device).repeat(shape[0])
        scores = self.model.score(head, relation, tail).reshape(shape)
        return self._leave_out(scores, without)

    def best(self, scores: Tensor, k: int, without: Pairs = NONE) -> tuple[Scores, Ids]:
        """The k best of each row and their columns: (B, n) -> (B, k), (B, k), best first.

        What was left out fills the end of a row that has too few others, as minus
        infinity. Scores that are not finite are refused: NaN would come first.
        """
        values, columns = top(scores, k)
        out_of = torch.bincount(self._tensor(without[0]), minlength=len(scores))
        due = (scores.shape[1] - out_of).clamp_max(values.shape[1])
        if not torch.equal(torch.isfinite(values).sum(dim=1), due):
            raise EvaluationError("The model gives scores that are not finite; train it again.")
        if self.highest is not None:
            values = values.clamp_max(self.highest)
        return values.float().cpu().numpy(), columns.cpu().numpy()

    def best_of_all(self, scores: Tensor, k: int, without: Pairs = NONE) -> tuple[Scores, Ids]:
        """The k best of the whole table and their places in it: (B, n) -> (j,), (j,), j <= k.

        Place row * n + column; what was left out is not among them.
        """
        rows = np.zeros_like(without[0])
        values, places = self.best(scores.view(1, -1), k, (rows, rows))
        kept = values[0] > -np.inf
        return values[0, kept], places[0, kept]

    def _leave_out(self, scores: Tensor, without: Pairs) -> Tensor:
        rows, columns = (self._tensor(part) for part in without)
        return scores.index_put_((rows, columns), scores.new_tensor(-torch.inf))

    def _tensor(self, ids: Ids) -> Tensor:
        return torch.tensor(ids, device=self.device)

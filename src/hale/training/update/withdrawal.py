"""Settling: new entities withdraw until the answers to old questions hold."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hale.data.graph import Graph, Ids, KnownAnswers
from hale.engine.randomness import Stream, draw_seed
from hale.evaluation.evaluator import CHUNK_ELEMENTS
from hale.models import Model

FURTHEST = 1.3
HALVINGS = 5
SAMPLE = 10_000  # validation triples that are ranked


@torch.no_grad()
def withdraw(model: Model, first: int, factor: float) -> None:
    """Move the entities from number ``first`` on away from all queries, by one factor.

    By distance, away from the centre m of the others: e <- m + factor (e - m). By inner
    product, towards the origin: e <- e / factor.
    """
    table = model.entities()
    if model.similarity == "dot":
        table[first:] /= factor
    else:
        centre = table[:first].mean(dim=0)
        if model.heights:  # away from queries is away from zero
            centre[-1] = 0
        table[first:] = centre + factor * (table[first:] - centre)


def settle(model: Model, graph: Graph, triples: Ids, *, first: int, least: float) -> float:
    """Withdraw new entities just so far that the MRR of old triples (n, 3) is ``least`` -> factor.

    In a short training new entities meet a small part of the queries that drove the known ones
    apart, so they stand too near to questions that are not theirs. The factor is found by halving
    the way from 1, where nothing moves, to 1.3; it is 1 if nothing need move.
    """
    trained = model.entities()[first:].detach().clone()
    model.eval()
    if not len(triples) or not len(trained):
        return 1.0
    places = Places(model, graph.both_directions(triples), graph.known(), first)

    def move(factor: float) -> None:
        with torch.no_grad():
            model.entities()[first:] = trained
        withdraw(model, first, factor)

    def holds(factor: float) -> bool:
        move(factor)
        return places.mrr() >= least

    near, far = 1.0, FURTHEST
    if holds(near):
        return near
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        near, far = (near, middle) if holds(middle) else (middle, far)
    move(far)
    return far


class Places:
    """Filtered ranks of triples (n, 3) while the entities from number ``first`` on move.

    What the others count for is counted once; a new look ranks against the moving ones only.
    Ranks are those of ``filtered_ranks``, the mean of the best and the worst among equals.
    """

    @torch.inference_mode()
    def __init__(self, model: Model, triples: Ids, known: KnownAnswers, first: int) -> None:
        self.model, self.triples, self.known, self.first = model, triples, known, first
        self.targets = model.entities().new_empty(len(triples))
        self.fixed = self._count(slice(0, first), fill=True)

    @torch.inference_mode()
    def mrr(self) -> float:
        """Mean reciprocal rank as the entities stand."""
        doubled = 1 + self.fixed + self._count(slice(self.first, None))
        return (2 / doubled).double().mean().item()

    def _count(self, columns: slice, *, fill: bool = False) -> Tensor:
        """Candidates above a triple's tail and those not below it, added: (n,)."""
        width = len(self.model.entities()[columns])
        chunk = max(1, CHUNK_ELEMENTS // width)
        counts = torch.empty_like(self.targets)
        for start in range(0, len(self.triples), chunk):
            part = self.triples[start : start + chunk]
            ids = torch.tensor(part, device=counts.device)
            scores = self._scores(ids, columns)
            if fill:
                self.targets[start : start + chunk] = scores.gather(1, ids[:, 2:]).squeeze(1)
            targets = self.targets[start : start + chunk, None]
            rows, answers = (
                torch.from_numpy(x).to(ids.device) for x in self.known.of(part[:, 0], part[:, 1])
            )
            answers = answers - (columns.start or 0)
            ours = (answers >= 0) & (answers < width) & (answers != ids[rows, 2])
            scores[rows[ours], answers[ours]] = -torch.inf
            above = (scores > targets).sum(dim=1) + (scores >= targets).sum(dim=1)
            counts[start : start + chunk] = above.to(counts.dtype)
        return counts

    def _scores(self, ids: Tensor, columns: slice) -> Tensor:
        """Scores of the entities in the columns, without the bias of the head: (B, K)."""
        model, (head, relation) = self.model, (ids[:, 0], ids[:, 1])
        scores = model.compare_all(
            model.query(head, relation), model.entities()[columns], model.curvature(relation)
        )
        if model.tail_bias is not None:
            scores = scores + model.tail_bias.weight[columns].T
        return model.without_loops(scores, head, relation, columns.start or 0)


def sample(triples: Ids, seed: int) -> Ids:
    """At most 10,000 of the triples, drawn by seed."""
    if len(triples) <= SAMPLE:
        return triples
    draws = np.random.default_rng(draw_seed(seed, Stream.VALIDATION))
    return triples[np.sort(draws.choice(len(triples), SAMPLE, replace=False))]

"""Withdrawal: new entities step back until the answers to old questions hold."""

from __future__ import annotations

import numpy as np
import torch

from hale.data.graph import Graph
from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers
from hale.engine.randomness import Stream, draw_seed
from hale.evaluation.ranks import count_rivals
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
    if not model.by_distance:
        table[first:] /= factor
    else:
        centre = table[:first].mean(dim=0)
        if model.heights:  # away from queries is away from zero
            centre[-1] = 0
        table[first:] = centre + factor * (table[first:] - centre)


def withdraw_until(model: Model, graph: Graph, triples: Ids, *, first: int, least: float) -> float:
    """Withdraw new entities just so far that the MRR of old triples (n, 3) is ``least`` -> factor.

    In a short training new entities meet a small part of the queries that drove the known ones
    apart, so they stand too near to questions that are not theirs. The factor is found by halving
    the way from 1, where nothing moves, to 1.3; it is 1 if nothing need move. A loss that lies
    with the known entities is not cured by withdrawing: then the factor is the least that brings
    what withdrawing to 1.3 brings.
    """
    trained = model.entities()[first:].detach().clone()
    model.eval()
    if not len(triples) or not len(trained):
        return 1.0
    ranks = MovingRanks(model, graph.both_directions(triples), graph.known_answers, first)

    def mrr_at(factor: float) -> float:
        with torch.no_grad():
            model.entities()[first:] = trained
        withdraw(model, first, factor)
        return ranks.mrr()

    here = mrr_at(1.0)
    if here >= least:
        return 1.0
    least = min(least, mrr_at(FURTHEST))
    if here >= least:  # further away is no better
        mrr_at(1.0)
        return 1.0
    near, far = 1.0, FURTHEST
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        near, far = (near, middle) if mrr_at(middle) >= least else (middle, far)
    mrr_at(far)
    return far


class MovingRanks:
    """Filtered ranks of triples (n, 3) while the entities from number ``first`` on move.

    What the others count for is counted once; a new look ranks against the moving ones only. The
    targets are among those that stand. Ranks are those of ``filtered_ranks``, ties at their mean.
    """

    def __init__(self, model: Model, triples: Ids, known: KnownAnswers, first: int) -> None:
        self.model, self.triples, self.known, self.first = model, triples, known, first
        self.standing = count_rivals(model, triples, known, last=first)

    @torch.inference_mode()
    def mrr(self) -> float:
        """Mean reciprocal rank as the entities stand."""
        targets, higher, no_lower = self.standing
        moving = count_rivals(
            self.model, self.triples, self.known, targets=targets, first=self.first
        )
        doubled = 1 + higher + no_lower + moving.higher + moving.no_lower
        return (2 / doubled.double()).mean().item()


def sample(triples: Ids, seed: int) -> Ids:
    """At most 10,000 of the triples, drawn by seed."""
    if len(triples) <= SAMPLE:
        return triples
    draws = np.random.default_rng(draw_seed(seed, Stream.VALIDATION))
    return triples[np.sort(draws.choice(len(triples), SAMPLE, replace=False))]

"""Settling: new entities withdraw until the answers to old questions hold."""

from __future__ import annotations

import numpy as np
import torch

from hale.evaluator import Metrics, filtered_ranks
from hale.graph import Graph, Ids
from hale.models import Model
from hale.randomness import Stream, draw_seed

FURTHEST = 1.3
HALVINGS = 5
SAMPLE = 4000  # validation triples that are ranked each time


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
        table[first:] = centre + factor * (table[first:] - centre)


def settle(model: Model, graph: Graph, triples: Ids, *, first: int, least: float) -> float:
    """Withdraw new entities just so far that the MRR of old triples (n, 3) is ``least`` -> factor.

    In a short training new entities meet a small part of the queries that drove the known ones
    apart, so they stand too near to questions that are not theirs. The factor is found by halving
    the way from 1, where nothing moves, to 1.3; it is 1 if nothing need move.
    """
    both, known = graph.both_directions(triples), graph.known()
    trained = model.entities()[first:].detach().clone()

    def move(factor: float) -> None:
        with torch.no_grad():
            model.entities()[first:] = trained
        withdraw(model, first, factor)

    def holds(factor: float) -> bool:
        move(factor)
        return Metrics.of(filtered_ranks(model, both, known)).mrr >= least

    model.eval()
    near, far = 1.0, FURTHEST
    if not len(triples) or not len(trained) or holds(near):
        return near
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        near, far = (near, middle) if holds(middle) else (middle, far)
    move(far)
    return far


def sample(triples: Ids, seed: int) -> Ids:
    """At most 4,000 of the triples, drawn by seed."""
    if len(triples) <= SAMPLE:
        return triples
    draws = np.random.default_rng(draw_seed(seed, Stream.VALIDATION))
    return triples[np.sort(draws.choice(len(triples), SAMPLE, replace=False))]

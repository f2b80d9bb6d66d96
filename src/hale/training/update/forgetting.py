"""Forgetting: removed facts come to rank no better than facts that no training saw."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.graph import Graph
from hale.data.keys import Ids
from hale.data.revision import Revision
from hale.engine.randomness import Stream, generator
from hale.engine.topk import merged, top
from hale.evaluation.ranks import filtered_ranks
from hale.evaluation.spans import chunk_size, score_queries
from hale.models import Model
from hale.training.update.withdrawal import sample

Floats = NDArray[np.float64]

ROUNDS = 20
DEEPER = 4  # rounds after which facts that are still too high are to go one rank further
# Validation facts that a directed relation's mean is mixed with: as many of the mean of all.
SUPPOSED = 10
HALVINGS = 12
DOUBLINGS = 12
LEVEL = 1e-12  # squared length of a slope that leads nowhere


class Forgotten(NamedTuple):
    """What was done: facts, each way, that stood too high, and how many still do."""

    moved: int
    left: int


def notes_on(revision: Revision) -> list[str]:
    """What is said of a revision before it is trained: of the files, and of what cannot be done."""
    notes = list(revision.notes)
    if len(revision.removed) and not len(revision.after.valid):
        notes.append(
            "the run has no validation facts, so nothing tells how facts rank that were never "
            "seen: removed facts leave the graph, and entities that lost many are placed anew, but "
            "those that still rank well are not lowered; train with a held-out share for that"
        )
    return notes


def forget_removed(model: Model, revision: Revision, seed: int) -> Forgotten | None:
    """Lower the removed facts of a revision, by its validation facts; None without either."""
    after = revision.after
    if not len(revision.removed) or not len(after.valid):  # never by the test split
        return None
    levels = unseen_levels(model, after, sample(after.valid, seed))
    return forget(model, after, revision.removed, levels, generator(seed, Stream.PLACE))


def forget(
    model: Model, graph: Graph, removed: Ids, levels: Floats, draws: torch.Generator
) -> Forgotten:
    """Lower removed facts (n, 3) until none ranks better than the ``level`` of its relation.

    A fact and its reciprocal are two questions, each with its level (2R,). One that ranks better
    than it has its head and tail moved, away from each other along the gradient of its score, just
    so far that it falls to the first rank at or below its level. A row resists by the number of
    training facts that it is in:

        e <- e - a g_e / n_e,   g_e = d score / d e

    so a hub hardly moves. Facts share rows and candidates move too, so this is done in rounds, at
    most 20, the later ones a little deeper, and a row that several facts move goes by the mean of
    what they ask. Where there is no slope, as of a distance of zero, a way is drawn. The relations
    stay.
    """
    model.eval()
    both, known = graph.both_directions(removed), graph.known_answers
    stiffness = np.bincount(graph.train[:, [0, 2]].ravel(), minlength=len(graph.entities))
    resists = torch.from_numpy(np.maximum(1, stiffness)).to(model.entities())
    moved = np.zeros(len(both), dtype=bool)
    for round_number in range(ROUNDS):
        ranks = filtered_ranks(model, both, known)
        high = ranks < levels[both[:, 1]]
        if not high.any():
            return Forgotten(int(moved.sum()), 0)
        moved |= high
        wanted = np.ceil(levels[both[high, 1]]).astype(np.int64) + round_number // DEEPER
        limits = score_at(model, graph, both[high], wanted)
        facts = torch.tensor(both[high], device=limits.device)
        _lower(model, facts, limits, resists, draws)
    ranks = filtered_ranks(model, both, known)
    return Forgotten(int(moved.sum()), int((ranks < levels[both[:, 1]]).sum()))


def unseen_levels(model: Model, graph: Graph, held_out: Ids) -> Floats:
    """The rank of a fact that no training saw, by directed relation: 1 / MRR, -> (2R,).

    Of held-out facts (n, 3), n >= 1, each way; the MRR of a relation with few is drawn to that of
    all by ten facts of it.
    """
    both = graph.both_directions(held_out)
    reciprocal = 1 / filtered_ranks(model.eval(), both, graph.known_answers)
    count = 2 * len(graph.relations)
    sums = np.bincount(both[:, 1], reciprocal, count) + SUPPOSED * reciprocal.mean()
    found: Floats = (np.bincount(both[:, 1], minlength=count) + SUPPOSED) / sums
    return found


@torch.inference_mode()
def score_at(model: Model, graph: Graph, triples: Ids, ranks: Ids) -> Tensor:
    """The scores at which the tails of triples (n, 3) would have the ranks (n,): -> (n,).

    Halfway between the candidate that would be just above and the one just below; known answers
    and the tail itself are no candidates. Where there are fewer, it is the lowest candidate's.
    """
    found = model.entities().new_empty(len(triples))
    depth = int(ranks.max())
    step = max(1, chunk_size(depth))
    for start in range(0, len(triples), step):
        some = triples[start : start + step]
        best: dict[int, tuple[Tensor, Tensor]] = {}
        spans: dict[int, slice] = {}
        for block in score_queries(model, some[:, 0], some[:, 1], graph.known_answers):
            scores = block.scores.index_put_(block.known, block.scores.new_tensor(-torch.inf))
            own = torch.tensor(some[block.part, 2], device=scores.device) - block.first
            rows = ((own >= 0) & (own < scores.shape[1])).nonzero().squeeze(1)
            scores[rows, own[rows]] = -torch.inf
            first = block.part.start
            best[first] = merged(best.get(first), top(scores, depth), depth)
            spans[first] = block.part
        for first, (values, _) in best.items():
            part = spans[first]
            wanted = torch.tensor(ranks[start + part.start : start + part.stop])
            finite = torch.isfinite(values).sum(dim=1)
            places = torch.minimum(wanted.to(finite.device), finite).clamp_min(1) - 1
            above = (places - 1).clamp_min(0)  # the candidate that is to be just above
            pair = torch.stack((above, places), dim=1)
            found[start + part.start : start + part.stop] = values.gather(1, pair).mean(dim=1)
    return found


def _lower(
    model: Model, triples: Tensor, limits: Tensor, resists: Tensor, draws: torch.Generator
) -> None:
    """Move heads and tails of triples (n, 3) until each scores its limit (n,), as if alone."""
    head, relation, tail = triples.unbind(dim=1)
    table = model.entities()
    ends = torch.stack((table.detach()[head], table.detach()[tail])).requires_grad_()
    bias = model.bias(head, tail)

    def score(rows: Tensor) -> Tensor:
        queries = model.query_of(rows[0], relation)
        compared = model.compare(queries, rows[1].unsqueeze(1), model.curvature(relation))
        return compared.squeeze(1) + bias

    (slope,) = torch.autograd.grad(score(ends).sum(), ends)
    with torch.no_grad():
        places = ends.detach()
        drawn = torch.randn(slope.shape, generator=draws, dtype=slope.dtype).to(slope.device)
        level = slope.square().sum(dim=(0, 2)) < LEVEL
        slope = torch.where(level[:, None], drawn, slope)
        way = -slope / torch.stack((resists[head], resists[tail])).unsqueeze(2)
        reach = _reach(lambda by: score(places + by[:, None] * way), limits)
        asked = reach[:, None] * way
        rows, owner = torch.unique(torch.cat((head, tail)), return_inverse=True)
        moves = table.new_zeros(len(rows), table.shape[1])
        moves.index_add_(0, owner, asked.reshape(len(owner), -1))
        table[rows] += moves / torch.bincount(owner).unsqueeze(1)


def _reach(score: Callable[[Tensor], Tensor], limits: Tensor) -> Tensor:
    """How far to go, each its own way, until scores fall to their limits: -> (n,)."""
    far = torch.full_like(limits, 1e-3)
    for _ in range(DOUBLINGS):
        far = torch.where(score(far) > limits, 4 * far, far)
    near = torch.zeros_like(far)
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        low = score(middle) <= limits
        near, far = torch.where(low, near, middle), torch.where(low, middle, far)
    return far

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
GENTLE = 14  # rounds in which rivals are taken to stay where they are
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
    so far that it falls below a rival: the answer that is to stand just above it. A row resists by
    the number of training facts that it is in:

        e <- e - a g_e / n_e,   g_e = d score / d e

    so a hub hardly moves. Facts share rows, and the query moves away from rivals as well, so this
    is done in rounds, at most 20, the later ones a little deeper, and a row that several facts move
    goes by the mean of what they ask. What 14 rounds do not lower goes by the gradient of its lead
    over the rival, score - score of the rival: towards that. Where there is no slope, as of a
    distance of zero, a way is drawn. The relations stay.
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
        rivals = rivals_at(model, graph, both[high], wanted)
        facts = torch.tensor(both[high], device=rivals.leads.device)
        _lower(model, facts, rivals, resists, draws, towards=round_number >= GENTLE)
    ranks = filtered_ranks(model, both, known)
    return Forgotten(int(moved.sum()), int((ranks < levels[both[:, 1]]).sum()))


def unseen_levels(model: Model, graph: Graph, held_out: Ids) -> Floats:
    """The rank of a fact that no training saw, by directed relation: 1 / MRR, -> (2R,).

    Of held-out facts (n, 3), n >= 1, each way; the MRR of a relation with few is drawn to that of
    all by ten facts of it. Of a relation with none nothing tells, so its facts are to rank as by
    chance, sum_k 1/k / N.
    """
    both = graph.both_directions(held_out)
    reciprocal = 1 / filtered_ranks(model.eval(), both, graph.known_answers)
    count = 2 * len(graph.relations)
    sums = np.bincount(both[:, 1], reciprocal, count) + SUPPOSED * reciprocal.mean()
    counts = np.bincount(both[:, 1], minlength=count)
    chance = len(graph.entities) / (1 / np.arange(1, len(graph.entities) + 1)).sum()
    found: Floats = np.where(counts, (counts + SUPPOSED) / sums, chance)
    return found


class Rivals(NamedTuple):
    """The answers that are to stand just above facts, and the leads over them, below 0, to have."""

    entities: Tensor  # (n,)
    leads: Tensor  # (n,)


@torch.no_grad()
def rivals_at(model: Model, graph: Graph, triples: Ids, ranks: Ids) -> Rivals:
    """Which candidate is just above the tail of triples (n, 3) at the ranks (n,), 2 or more.

    The lead is half of that to the next candidate, so that the fact comes between the two. Known
    answers and the tail itself are no candidates; where there are too few, it is the last one.
    """
    depth = int(ranks.max())
    step = max(1, chunk_size(depth))
    entities, leads = [], []
    for start in range(0, len(triples), step):
        some = triples[start : start + step]
        best: dict[int, tuple[Tensor, Tensor]] = {}
        for block in score_queries(model, some[:, 0], some[:, 1], graph.known_answers):
            scores = block.scores.index_put_(block.known, block.scores.new_tensor(-torch.inf))
            own = torch.tensor(some[block.part, 2], device=scores.device) - block.first
            rows = ((own >= 0) & (own < scores.shape[1])).nonzero().squeeze(1)
            scores[rows, own[rows]] = -torch.inf
            values, columns = top(scores, depth)
            first = block.part.start
            best[first] = merged(best.get(first), (values, columns + block.first), depth)
        values, columns = (torch.cat(parts) for parts in zip(*best.values(), strict=True))
        last = torch.isfinite(values).sum(dim=1) - 1
        wanted = torch.from_numpy(ranks[start : start + step]).to(last.device)
        above = torch.minimum(wanted - 2, last - 1).clamp_min(0)[:, None]
        below = torch.minimum(above + 1, last[:, None])
        entities.append(columns.gather(1, above).squeeze(1))
        leads.append((values.gather(1, below) - values.gather(1, above)).squeeze(1) / 2)
    return Rivals(torch.cat(entities), torch.cat(leads))


def _lower(
    model: Model,
    triples: Tensor,
    rivals: Rivals,
    resists: Tensor,
    draws: torch.Generator,
    *,
    towards: bool,
) -> None:
    """Move heads and tails of triples (n, 3) until each has its lead, as if it were alone.

    ``towards`` the rivals too, or away from each other, as if the rivals' scores stayed.
    """
    head, relation, tail = triples.unbind(dim=1)
    table = model.entities()
    ends = torch.stack((table.detach()[head], table.detach()[tail])).requires_grad_()
    other = table.detach()[rivals.entities]
    bias = model.bias(head, tail) - model.bias(head, rivals.entities)

    beside = model.comparing(relation)

    def against(rows: Tensor) -> Tensor:
        """The scores of tails and of rivals: (n, 2)."""
        answers = torch.stack((rows[1], other), dim=1)
        return model.compare(model.query_of(rows[0], relation), answers, beside)

    held = against(ends)[:, 1].detach()

    def lead(rows: Tensor) -> Tensor:
        compared = against(rows)
        return compared[:, 0] - (compared[:, 1] if towards else held) + bias

    (slope,) = torch.autograd.grad(lead(ends).sum(), ends)
    with torch.no_grad():
        places = ends.detach()
        drawn = torch.randn(slope.shape, generator=draws, dtype=slope.dtype).to(slope.device)
        level = slope.square().sum(dim=(0, 2)) < LEVEL
        slope = torch.where(level[:, None], drawn, slope)
        way = -slope / torch.stack((resists[head], resists[tail])).unsqueeze(2)
        reach = _reach(lambda by: lead(places + by[:, None] * way), rivals.leads)
        asked = reach[:, None] * way
        rows, owner = torch.unique(torch.cat((head, tail)), return_inverse=True)
        moves = table.new_zeros(len(rows), table.shape[1])
        moves.index_add_(0, owner, asked.reshape(len(owner), -1))
        table[rows] += moves / torch.bincount(owner).unsqueeze(1)


def _reach(lead: Callable[[Tensor], Tensor], limits: Tensor) -> Tensor:
    """How far to go, each its own way, until leads fall to their limits: -> (n,)."""
    far = torch.full_like(limits, 1e-3)
    for _ in range(DOUBLINGS):
        far = torch.where(lead(far) > limits, 4 * far, far)
    near = torch.zeros_like(far)
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        low = lead(middle) <= limits
        near, far = torch.where(low, near, middle), torch.where(low, middle, far)
    return far

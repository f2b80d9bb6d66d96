"""Ranks: where a target stands among all entities.

Evaluation, validation, updates and explanations all count by ``count_rivals``: in the kernel's
registers where it runs, else from blocks of scores. Neither copies the table of entities.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers
from hale.engine import library as kernel
from hale.engine.counting import Comparison, score_pairs
from hale.engine.group import ALONE, Group
from hale.evaluation.cardinality_rule import CardinalityRule, Levels
from hale.evaluation.kinds import count_kinds, take_away
from hale.evaluation.spans import (
    Scored,
    by_vectors_alone,
    chunk_size,
    chunks_of,
    held,
    not_finite_scores,
    refuse_non_finite,
    score_queries,
    widest_span,
    width_of,
)
from hale.models import Model
from hale.models.base import LAST

Ties = Literal["mean", "optimistic", "pessimistic"]


class Rivals(NamedTuple):
    """The scores of targets (n,), and the candidates above and at or above each: (n,), (n,)."""

    targets: Tensor
    higher: Tensor
    no_lower: Tensor


@torch.inference_mode()
def filtered_ranks(
    model: Model,
    triples: Ids,
    known: KnownAnswers,
    *,
    ties: Ties = "mean",
    rule: CardinalityRule | None = None,
) -> NDArray[np.float64]:
    """The rank of each triple's tail among all entities: (n, 3) -> (n,).

    With G the number of candidates that score higher than the target and T that
    of those that score the same (itself included), leaving out the other known
    answers: optimistic 1 + G, pessimistic G + T, mean half of their sum. A ``rule`` moves
    candidates up or down beside their scores.
    """
    _, higher, no_lower = count_rivals(model, triples, known, rule=rule)
    return rank_of(higher, no_lower, ties).cpu().numpy().astype(np.float64)


def rank_of(higher: Tensor, no_lower: Tensor, ties: Ties) -> Tensor:
    """The ranks of targets from the candidates above, and at or above, each: (n,), (n,) -> (n,)."""
    return {
        "optimistic": 1 + higher,
        "pessimistic": no_lower,
        "mean": (1 + higher + no_lower).double() / 2,  # float32 has no halves above 2^23
    }[ties]


@torch.inference_mode()
def count_rivals(
    model: Model,
    triples: Ids,
    known: KnownAnswers,
    *,
    rule: CardinalityRule | None = None,
    targets: Tensor | None = None,
    first: int = 0,
    last: int | None = None,
) -> Rivals:
    """Candidates that score above the tails of triples (n, 3), and those that score no lower.

    Candidates are the entities from ``first`` to before ``last`` (all), without the other known
    answers. ``targets`` (n,) are the scores of the tails, found here where they are not given:
    then the tails are among the candidates. They are scores of the model, also under a ``rule``.
    Scores that are not finite are refused. Ranks of a group that share the entities count those
    they hold, and add up.
    """
    end = model.size.num_entities if last is None else last
    parts: list[Rivals] = []
    for part in chunks_of(triples[:, 0], triples[:, 1], chunk_size(width_of(model)), known):
        asked = triples[part], known, rule, None if targets is None else targets[part], first, end
        counted = _in_registers(model, *asked) or _by_blocks(model, *asked)
        parts.append(summed_over(model.entity.group, counted))
    if not parts:
        nothing = torch.empty(0, dtype=torch.long)
        return Rivals(model.entities().new_empty(0), nothing, nothing)
    return Rivals(*(torch.cat(column) for column in zip(*parts, strict=True)))


def summed_over(group: Group, counted: Rivals) -> Rivals:
    """The candidates that all ranks counted, by one all-reduce."""
    if group.size == 1:
        return counted
    counts = torch.stack((counted.higher, counted.no_lower))
    higher, no_lower = group.all_reduce(counts).to(counts.device)
    return Rivals(counted.targets, higher, no_lower)


def _in_registers(
    model: Model,
    triples: Ids,
    known: KnownAnswers,
    rule: CardinalityRule | None,
    targets: Tensor | None,
    first: int,
    last: int,
) -> Rivals | None:
    """By the kernel, with scores of its own for single pairs; None where it does not run."""
    if not by_vectors_alone(model) or model.similarity not in ("l2", "dot"):
        return None
    group, (first, last) = model.entity.group, held(model).within(first, last)
    if group.any(not kernel.takes(model.entities())):
        return None
    head, relation = (torch.tensor(column) for column in triples.T[:2])
    compared = _compared(model, head, relation, first, last)
    if not compared.fits():
        return None
    out = model.ruled_out(relation)
    barred = torch.where(out, head, -1) if out is not None else torch.full_like(head, -1)
    asked = triples, known, targets, first, last
    return counted_in_registers(compared, barred, *asked, rule=rule, group=group)


def counted_in_registers(
    compared: Comparison,
    barred: Tensor,
    triples: Ids,
    known: KnownAnswers,
    targets: Tensor | None,
    first: int,
    last: int,
    *,
    rule: CardinalityRule | None = None,
    group: Group = ALONE,
) -> Rivals:
    """The rivals of triples (n, 3) among the entities compared, those from ``first`` to ``last``.

    ``barred`` (n,) are heads that are no answers to their own queries, -1 where they are. Ranks of
    a ``group`` find targets, and faults, together.
    """
    tail = torch.tensor(triples[:, 2])

    def scores_of(rows: Tensor, entities: Tensor) -> Tensor:
        """The scores of some pairs, of what is ruled out too."""
        scores = score_pairs(compared, rows, entities - first)
        return scores.masked_fill_(barred[rows] == entities, LAST)

    if targets is None:
        here = ((tail >= first) & (tail < last)).nonzero().squeeze(1)
        targets = told_to_all(group, len(tail), here, scores_of(here, tail[here]))
        refuse_non_finite(targets)
    levels = Levels(targets, targets) if rule is None else rule.levels(triples, targets)
    higher, no_lower, finite = count_kinds(compared, levels, triples, rule, first, last)
    if group.any(not finite):
        raise not_finite_scores()

    def limits_of(rows: Tensor, entities: Tensor) -> Tensor:
        """What some pairs are compared with."""
        if rule is None:
            return levels.free[rows]
        ids = triples[rows.numpy()]
        taken = torch.from_numpy(rule.taken(ids[:, 0], ids[:, 1], entities.numpy()))
        return torch.where(taken, levels.taken[rows], levels.free[rows])

    # A head that is ruled out was counted by its vector.
    rows = ((barred >= first) & (barred < last)).nonzero().squeeze(1)
    by_vector = score_pairs(compared, rows, barred[rows] - first)
    limits = limits_of(rows, barred[rows])
    higher[rows] += (limits < LAST).long() - (by_vector > limits).long()
    no_lower[rows] += (limits <= LAST).long() - (by_vector >= limits).long()
    rows, answers = (torch.from_numpy(ids) for ids in known.of(triples[:, 0], triples[:, 1]))
    others = (answers != tail[rows]) & (answers >= first) & (answers < last)
    rows, answers = rows[others], answers[others]
    take_away(higher, no_lower, rows, scores_of(rows, answers), limits_of(rows, answers))
    return Rivals(targets, higher, no_lower)


def _compared(model: Model, head: Tensor, relation: Tensor, first: int, last: int) -> Comparison:
    """What ``model.score_all`` compares, but for heads that are ruled out."""
    own = biases = None
    if model.head_bias is not None and model.tail_bias is not None:
        own = model.head_bias(head).squeeze(1)
        biases = model.tail_bias.held(slice(first, last))[:, 0]
    return Comparison(
        queries=model.query(head, relation),
        entities=model.entity.held(slice(first, last)),
        by_distance=model.similarity == "l2",
        own=own,
        biases=biases,
    )


def _by_blocks(
    model: Model,
    triples: Ids,
    known: KnownAnswers,
    rule: CardinalityRule | None,
    targets: Tensor | None,
    first: int,
    last: int,
) -> Rivals:
    """From scores, on any device and for any model.

    Where a block does not reach all candidates they are scored twice, first to find the targets:
    a product of another shape might give a target other bits than it has among the candidates.
    """
    group, width = model.entity.group, width_of(model)
    widest = widest_span(first, last, width)
    parts = []
    for part in chunks_of(triples[:, 0], triples[:, 1], chunk_size(widest), known):
        heads, relations, tails = triples[part].T
        asked = torch.tensor(tails, device=model.entities().device)
        blocks = partial(score_queries, model, heads, relations, known, first=first, last=last)
        one = list(blocks()) if last - first <= widest else None  # the same on all ranks
        target = targets[part] if targets is not None else None
        if target is None:
            target = targets_in(group, one or blocks(), asked, model.entities())
        higher, no_lower = torch.zeros_like(asked), torch.zeros_like(asked)
        levels = None if rule is None else rule.levels(triples[part], target)
        for scored in one or blocks():
            limits = target[:, None]
            if rule is not None and levels is not None:
                there = np.arange(scored.first, scored.first + scored.scores.shape[1])
                limits = rule.limits(levels, heads, relations, there)
            above, beside = count_above(scored, limits, asked - scored.first)
            higher += above
            no_lower += beside
        parts.append(Rivals(target, higher, no_lower))
    return Rivals(*(torch.cat(column) for column in zip(*parts, strict=True)))


def targets_in(group: Group, blocks: Iterable[Scored], tails: Tensor, like: Tensor) -> Tensor:
    """The scores of the tails (b,) of a chunk, from the blocks of all ranks: -> (b,).

    A rank may have no block; scores are of the type of ``like``.
    """
    places, found = [tails[:0]], [like.new_empty(0)]
    for scored in blocks:
        columns = tails - scored.first
        inside = ((columns >= 0) & (columns < scored.scores.shape[1])).nonzero().squeeze(1)
        places.append(inside)
        found.append(scored.scores[inside, columns[inside]])
    return told_to_all(group, len(tails), torch.cat(places), torch.cat(found))


def told_to_all(group: Group, count: int, places: Tensor, scores: Tensor) -> Tensor:
    """The scores (count,) of which this rank has those at some places (p,), (p,)."""
    found = scores.new_full((count,), -torch.inf)
    # infinity is refused as NaN is, and larger than any
    found[places] = scores.masked_fill(scores.isnan(), torch.inf)
    return group.all_reduce(found, "max").to(found.device)


def count_above(scored: Scored, target: Tensor, tails: Tensor) -> tuple[Tensor, Tensor]:
    """Candidates above, and at or above, target scores (b, 1) or (b, K): -> (b,), (b,).

    Known answers do not count, except the target itself: ``tails`` (b,) tells its column, which
    may lie outside the span that was scored.
    """
    scores, (rows, columns) = scored.scores, scored.known
    others = columns != tails[rows]
    rows, columns = rows[others], columns[others]
    higher, no_lower = _count(scores, target)
    limits = target.expand_as(scores)[rows, columns]
    take_away(higher, no_lower, rows, scores[rows, columns], limits)
    return higher, no_lower


def _count(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Candidates above, and at or above, the target: (B, N), (B, 1) -> (B,), (B,).

    Comparisons are written as floats and summed: several times faster than
    summing booleans, and exact up to 2^24 candidates in float32.
    """
    exact = torch.float32 if scores.shape[1] < 1 << 24 else torch.float64
    buffer = torch.empty_like(scores, dtype=exact)
    higher = torch.gt(scores, target, out=buffer).sum(dim=1).long()
    no_lower = torch.ge(scores, target, out=buffer).sum(dim=1).long()
    return higher, no_lower

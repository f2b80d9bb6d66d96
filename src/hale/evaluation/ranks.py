"""Ranks: the one loop over queries and all entities, and where a target stands among them.

Evaluation, validation, updates and predictions all score queries by ``score_queries``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers
from hale.errors import EvaluationError
from hale.models import Model

Ties = Literal["mean", "optimistic", "pessimistic"]

# Scores held at once: 16 MB in float32, whatever the number of entities (at least one query).
CHUNK_ELEMENTS = 1 << 22


class Scored(NamedTuple):
    """A chunk of queries with the scores of all entities, or of a span of them."""

    part: slice  # which of the queries
    scores: Tensor  # (b, K)
    known: tuple[Tensor, Tensor]  # rows and columns of the scores that are known answers


def chunk_size(width: int) -> int:
    """How many rows of so many scores are held at once."""
    return max(1, CHUNK_ELEMENTS // max(1, width))


def score_queries(
    model: Model,
    heads: Ids,
    relations: Ids,
    known: KnownAnswers | None = None,
    *,
    first: int = 0,
    last: int | None = None,
) -> Iterator[Scored]:
    """The scores of the entities from ``first`` to before ``last`` (all), chunk after chunk.

    ``heads`` (n,) and ``relations`` (n,), of which r + R asks for heads. ``known`` tells which
    answers to find among them. Scores that are not finite are refused: NaN would come first
    everywhere.
    """
    end = model.size.num_entities if last is None else last
    whole = first == 0 and end == model.size.num_entities
    device = model.entities().device
    chunk = chunk_size(end - first)
    for start in range(0, len(heads), chunk):
        part = slice(start, min(start + chunk, len(heads)))
        head, relation = (torch.tensor(ids[part], device=device) for ids in (heads, relations))
        if whole:
            scores = model.score_all(head, relation)
        else:
            scores = model.score_all(head, relation, first, end)
        refuse_non_finite(scores)
        nothing = torch.empty(0, dtype=torch.long, device=device)
        pairs = (nothing, nothing)
        if known is not None:
            rows, answers = known.of(heads[part], relations[part])
            inside = (answers >= first) & (answers < end)
            rows, answers = rows[inside], answers[inside] - first
            pairs = (torch.from_numpy(rows).to(device), torch.from_numpy(answers).to(device))
        yield Scored(part, scores, pairs)


@torch.inference_mode()
def filtered_ranks(
    model: Model, triples: Ids, known: KnownAnswers, *, ties: Ties = "mean"
) -> NDArray[np.float64]:
    """The rank of each triple's tail among all entities: (n, 3) -> (n,).

    With G the number of candidates that score higher than the target and T that
    of those that score the same (itself included), leaving out the other known
    answers: optimistic 1 + G, pessimistic G + T, mean half of their sum.
    """
    ranks = np.empty(len(triples))
    for scored in score_queries(model, triples[:, 0], triples[:, 1], known):
        tails = torch.tensor(triples[scored.part, 2], device=scored.scores.device)
        target = scored.scores.gather(1, tails[:, None])
        higher, no_lower = count_above(scored, target, tails)
        rank = {
            "optimistic": 1 + higher,
            "pessimistic": no_lower,
            "mean": (1 + higher + no_lower).double() / 2,  # float32 has no halves above 2^23
        }[ties]
        ranks[scored.part] = rank.cpu().numpy()
    return ranks


def count_above(scored: Scored, target: Tensor, tails: Tensor) -> tuple[Tensor, Tensor]:
    """Candidates above, and at or above, target scores (b, 1): -> (b,), (b,).

    Known answers do not count, except the target itself: ``tails`` (b,) tells its column, which
    may lie outside the span that was scored.
    """
    scores, (rows, columns) = scored.scores, scored.known
    others = columns != tails[rows]
    rows, columns = rows[others], columns[others]
    higher, no_lower = _count(scores, target)
    beaten, rivals = scores[rows, columns], target[rows, 0]
    higher -= torch.bincount(rows[beaten > rivals], minlength=len(scores))
    no_lower -= torch.bincount(rows[beaten >= rivals], minlength=len(scores))
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


def refuse_non_finite(scores: Tensor) -> None:
    """An error if any score is NaN or infinite: ranks would mean nothing.

    Cheap first: one sum is finite only if all scores are (or it overflowed).
    """
    if not torch.isfinite(scores.sum()) and not torch.isfinite(scores).all():
        raise EvaluationError(
            "The model gives scores that are not finite, so ranks would mean nothing. "
            "Train again with a lower learning rate, or resume from an earlier state."
        )

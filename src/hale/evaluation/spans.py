"""Spans: the scores of many queries and all entities, a bounded table of them at a time.

Whoever needs scores themselves takes them from ``score_queries``; ranks are counted without where
the kernel runs (hale.evaluation.ranks).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers
from hale.engine.shards import Span
from hale.errors import EvaluationError
from hale.models import Model

# Numbers held at once, whatever there is of queries and entities: 16 MB in float32. It bounds the
# scores of a block, the vectors of its entities, and the known answers of its queries (of which at
# least one query's are held).
CHUNK_ELEMENTS = 1 << 22
# Queries of a block that does not reach all entities: fewer would make its product slow.
LEAST_QUERIES = 64


class Scored(NamedTuple):
    """A chunk of queries with the scores of all entities, or of a span of them."""

    part: slice  # which of the queries
    scores: Tensor  # (b, K)
    known: tuple[Tensor, Tensor]  # rows and columns of the scores that are known answers
    first: int = 0  # the entity of the first column


def chunk_size(width: int) -> int:
    """How many rows of so many scores are held at once."""
    return max(1, CHUNK_ELEMENTS // max(1, width))


def spans_of(first: int, last: int, dim: int) -> list[Span]:
    """Entities cut into spans whose vectors are held at once, with a block of their scores."""
    size = chunk_size(max(dim, LEAST_QUERIES))
    return [Span(start, min(start + size, last)) for start in range(first, last, size)]


def spans_held(model: Model, first: int, last: int) -> list[Span]:
    """The same of those that are held here; where none is, a span of none.

    So all ranks of a group that share the entities go through each chunk of queries together.
    """
    here = held(model).within(first, last)
    return spans_of(*here, width_of(model)) or [here]


def held(model: Model) -> Span:
    """The entities whose scores are made here: all, unless ranks of a group share them."""
    shared = model.entity.group.size > 1
    return model.entity.span if shared else Span(0, model.size.num_entities)


def widest_span(first: int, last: int, dim: int) -> int:
    """The entities of the largest span, however many ranks share them."""
    return min(max(1, last - first), chunk_size(max(dim, LEAST_QUERIES)))


def chunks_of(
    heads: Ids, relations: Ids, most: int, known: KnownAnswers | None = None
) -> Iterator[slice]:
    """Queries cut into chunks of at most ``most``, with no more known answers than are held."""
    if known is None:
        counts = np.zeros(len(heads), dtype=np.int64)
    else:
        counts = known.counts(heads, relations)
    ends = np.cumsum(counts)
    start = 0
    while start < len(heads):
        before = int(ends[start - 1]) if start else 0
        fitting = int(np.searchsorted(ends, before + CHUNK_ELEMENTS, side="right"))
        end = min(start + most, max(start + 1, fitting), len(heads))
        yield slice(start, end)
        start = end


def score_queries(
    model: Model,
    heads: Ids,
    relations: Ids,
    known: KnownAnswers | None = None,
    *,
    first: int = 0,
    last: int | None = None,
) -> Iterator[Scored]:
    """The scores of the entities from ``first`` to before ``last`` (all), block after block.

    Chunk after chunk of the queries, and of each span after span of the entities. ``heads`` (n,)
    and ``relations`` (n,), of which r + R asks for heads. ``known`` tells which answers to find
    among them. Scores that are not finite are refused: NaN would come first everywhere.
    """
    end = model.size.num_entities if last is None else last
    device = model.entities().device
    spans = spans_held(model, first, end)
    width = widest_span(first, end, width_of(model))
    for part in chunks_of(heads, relations, chunk_size(width), known):
        head, relation = (torch.tensor(ids[part], device=device) for ids in (heads, relations))
        rows = answers = np.empty(0, dtype=np.int64)
        if known is not None:
            rows, answers = known.of(heads[part], relations[part])
        for span in spans:
            scores = score_span(model, head, relation, span)
            inside = (answers >= span.first) & (answers < span.last)
            pairs = rows[inside], answers[inside] - span.first
            at, columns = (torch.from_numpy(ids).to(device) for ids in pairs)
            yield Scored(part, scores, (at, columns), span.first)


def by_vectors_alone(model: Model) -> bool:
    """Whether its scores are those of its vectors: not another library's, nor with rules beside."""
    return type(model).score_all is Model.score_all


def width_of(model: Model) -> int:
    """The numbers of an entity's vector, as they are held."""
    return model.entities().shape[-1]


def score_span(model: Model, head: Tensor, relation: Tensor, span: Span) -> Tensor:
    """The scores of a span of entities, all of them finite: (b,), (b,) -> (b, K)."""
    if span == (0, model.size.num_entities):
        scores = model.score_all(head, relation)
    else:
        scores = model.score_all(head, relation, *span)
    refuse_non_finite(scores)
    return scores


def refuse_non_finite(scores: Tensor) -> None:
    """An error if any score is NaN or infinite: ranks would mean nothing.

    Cheap first: one sum is finite only if all scores are (or it overflowed).
    """
    if not torch.isfinite(scores.sum()) and not torch.isfinite(scores).all():
        raise not_finite_scores()


def not_finite_scores() -> EvaluationError:
    """What is said of a model that gives such scores."""
    return EvaluationError(
        "The model gives scores that are not finite, so ranks would mean nothing. "
        "Train again with a lower learning rate, or resume from an earlier state."
    )

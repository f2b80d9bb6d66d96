"""How many entities score above a threshold of each query, without a table of their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from hale.engine import geometry
from hale.engine import library as kernel
from hale.engine.rows import within
from hale.engine.structures import Pairs, Ranks


@dataclass(frozen=True)
class Comparison:
    """Queries and the entities that they are compared with.

        s_ij = own_i + b_j - ||q_i - e_j||^2   by distance
        s_ij = own_i + b_j + <q_i, e_j>        by inner product

    ``queries`` (m, d), ``entities`` (N, d), ``own`` (m,) or zeros, ``biases`` (N,) or zeros.
    """

    queries: Tensor
    entities: Tensor
    by_distance: bool
    own: Tensor | None = None
    biases: Tensor | None = None

    def fits(self) -> bool:
        """Whether the kernel takes it: float32 on the CPU, rows of entities without gaps."""
        given = (self.own, self.biases)
        numbers = [self.queries, self.entities, *(part for part in given if part is not None)]
        return self.entities.is_contiguous() and kernel.takes(*numbers)


class Marked(NamedTuple):
    """Entities that meet another threshold of a query: which they are (N,), and theirs (m,)."""

    entities: Tensor
    thresholds: Tensor


def count_above(
    compared: Comparison, thresholds: Tensor, marked: Marked | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Entities that score above a query's threshold (m,), those at or above it, and faults.

    -> (m,), (m,), (m,): the last tells whether all scores of a query are finite. The native
    kernel counts them in registers. Its scores are bit by bit those of ``score_pairs``.
    """
    if not compared.fits():
        return plain_count_above(compared, thresholds, marked)
    queries, own, biases = _handed(compared)
    thresholds = thresholds.contiguous()
    higher, no_lower = (queries.new_empty(len(queries), dtype=torch.long) for _ in range(2))
    finite = queries.new_empty(len(queries), dtype=torch.int32)
    marks = None if marked is None else marked.entities.to(torch.uint8).contiguous()
    theirs = None if marked is None else marked.thresholds.contiguous()
    problem = Ranks(
        m=len(queries),
        n=len(compared.entities),
        d=queries.shape[1],
        queries=queries.data_ptr(),
        entities=compared.entities.data_ptr(),
        own=own.data_ptr(),
        biases=None if biases is None else biases.data_ptr(),
        by_distance=compared.by_distance,
        threads=torch.get_num_threads(),
        thresholds=thresholds.data_ptr(),
        marks=None if marks is None else marks.data_ptr(),
        marked=None if theirs is None else theirs.data_ptr(),
        higher=higher.data_ptr(),
        no_lower=no_lower.data_ptr(),
        finite=finite.data_ptr(),
    )
    kernel.call("hale_count_above", problem)
    return higher, no_lower, finite.bool()


def score_pairs(compared: Comparison, rows: Tensor, columns: Tensor) -> Tensor:
    """The scores of queries ``rows`` (p,) with entities ``columns`` (p,): -> (p,)."""
    if not compared.fits():
        return plain_score_pairs(compared, rows, columns)
    queries, own, biases = _handed(compared)
    rows, columns = within(rows, len(queries)), within(columns, len(compared.entities))
    scores = queries.new_empty(len(rows))
    problem = Pairs(
        count=len(rows),
        d=queries.shape[1],
        queries=queries.data_ptr(),
        entities=compared.entities.data_ptr(),
        own=own.data_ptr(),
        biases=None if biases is None else biases.data_ptr(),
        by_distance=compared.by_distance,
        threads=torch.get_num_threads(),
        rows=rows.data_ptr(),
        columns=columns.data_ptr(),
        scores=scores.data_ptr(),
    )
    kernel.call("hale_score_pairs", problem)
    return scores


def plain_count_above(
    compared: Comparison, thresholds: Tensor, marked: Marked | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The same by torch calls, from a table (m, N): the reference."""
    scores, limits = _table(compared), thresholds[:, None]
    if marked is not None:
        limits = torch.where(marked.entities, marked.thresholds[:, None], limits)
    finite = torch.isfinite(scores).all(dim=1)
    return (scores > limits).sum(dim=1), (scores >= limits).sum(dim=1), finite


def plain_score_pairs(compared: Comparison, rows: Tensor, columns: Tensor) -> Tensor:
    """The same by torch calls, from the same table."""
    return _table(compared)[rows, columns]


def _table(compared: Comparison) -> Tensor:
    if compared.by_distance:
        table = geometry.minus_squared_distances(compared.queries, compared.entities)
    else:
        table = compared.queries @ compared.entities.T
    if compared.own is not None:
        table = table + compared.own[:, None]
    return table if compared.biases is None else table + compared.biases


def _handed(compared: Comparison) -> tuple[Tensor, Tensor, Tensor | None]:
    """Queries, what is added to their scores (by distance -|q|^2 too), and biases."""
    queries = compared.queries.detach().contiguous()
    own = queries.new_zeros(len(queries)) if compared.own is None else compared.own.detach()
    if compared.by_distance:
        own = own - queries.square().sum(dim=1)
    biases = None if compared.biases is None else compared.biases.detach().contiguous()
    return queries, own.contiguous(), biases

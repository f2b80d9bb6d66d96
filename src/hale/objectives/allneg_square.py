"""AllNeg by a square loss over all triples, exact through d-by-d Gram matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from hale.data.graph import KnownAnswers
from hale.engine.blocks import Block
from hale.models import Model, Similarity
from hale.models.complex import ComplEx
from hale.models.distmult import DistMult
from hale.models.transe import TransE
from hale.objectives.base import Loss, Objective
from hale.settings import Settings


class AllNegSquare(Objective):
    """The non-sampling square loss: every triple that is not a positive is a negative.

        loss = mean_p [(f_p - 1)^2 - w f_p^2] + w (N R' N / P') mean over ALL (h, r, t) of f^2

    f is DistMult's and ComplEx's inner product, or 1 - ||e_h + r - e_t||^2 for TransE: a distance
    must start from the positives' label, or positives and negatives alike would pull it to 0.
    R' = 2R counts reciprocals, P' the positives of both directions: the two means together are
    1 / P' of the loss over all N R' N triples. The sum over them never visits one. With z(h, r)
    and y(t) such that f = <z, y>,

        sum f^2 = <sum_(h,r) z z^T, sum_t y y^T>

    and both Gram matrices are made of the tables' own: O((N + R) d^2) in place of O(N^2 R d).
    """

    name = "allneg-square"
    uses = frozenset({"negative_weight"})
    formula = "sum over all triples of (f - label)^2, negatives weighing w"
    source = "Li et al., WWW 2021"
    similarities: ClassVar[tuple[Similarity, ...]] = ("dot", "l2")
    models: ClassVar[Mapping[str, Similarity] | None] = {
        "transe": "l2",
        "distmult": "dot",
        "complex": "dot",
        "rgcn": "dot",
    }
    takes_biases = False
    in_nats = False
    takes_activation = False
    takes_dropout = False
    takes_heights = False
    takes_weights = False
    because = (
        "the sum over all triples is exact only where a score is a polynomial of the tables' rows"
    )
    defaults: ClassVar[Mapping[str, object]] = {
        "activation": "identity",
        "relation_scale": False,
        "leave_out_known": False,
    }

    def __init__(self, *, negative_weight: float = 0.01) -> None:
        self.negative_weight = negative_weight

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The objective that the settings describe."""
        return cls(negative_weight=settings.negative_weight)

    def __call__(
        self,
        model: Model,
        triples: Tensor,
        generator: torch.Generator,  # noqa: ARG002
        known: KnownAnswers | None = None,
        block: Block | None = None,  # noqa: ARG002
        weights: Tensor | None = None,  # noqa: ARG002
    ) -> Loss:
        """The loss of positive triples (B, 3); ``known`` counts all positives."""
        weight = self.negative_weight
        scores = model.score_by_vectors(*triples.unbind(dim=1))
        if isinstance(model, TransE):
            scores = scores + 1
        positives = ((scores - 1).square() - weight * scores.square()).mean()
        count = len(triples) if known is None else len(known)
        everything = (sum_of_squares(model) / count).to(scores.dtype)
        return Loss(positives + weight * everything, {"positives": positives, "all": everything})


def sum_of_squares(model: Model) -> Tensor:
    """The sum of f^2 over all N * 2R * N triples, by Gram matrices, in float64."""
    entities = model.entities().double()
    if isinstance(model, TransE):
        return _sum_of_squares_of_shifts(entities, model.shift.rows().double())
    gram = entities.T @ entities
    if isinstance(model, DistMult):
        rows = model.stretch.rows().double()
        queries = gram * (rows.T @ rows)
    else:
        assert isinstance(model, ComplEx)
        queries = _complex_queries(gram, model.factor.rows().double())
    return (queries * gram).sum()


def _complex_queries(gram: Tensor, factors: Tensor) -> Tensor:
    """The sum over (h, r) of q q^T, q the complex product of h and r: (d, d), (2R, d) -> (d, d).

    Coordinates come in pairs (a, b) = a + ib, so with h = (a, b) and r = (u, v)

        q = (a u - b v, a v + b u)

    and each entry of q q^T is a sum of four products of an entry of each Gram matrix.
    """
    other = factors.T @ factors
    part = (slice(0, None, 2), slice(1, None, 2))  # real, imaginary
    terms = (((1, 0, 0), (-1, 1, 1)), ((1, 0, 1), (1, 1, 0)))  # of q: sign, part of h, part of r
    total = torch.empty_like(gram)
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        block = torch.zeros_like(gram[part[i], part[j]])
        for sign, h, r in terms[i]:
            for other_sign, k, s in terms[j]:
                block = block + sign * other_sign * gram[part[h], part[k]] * other[part[r], part[s]]
        total[part[i], part[j]] = block
    return total


class _Moments(NamedTuple):
    """Sums over the rows x of a table: of 1, x, x x^T, |x|^2, x |x|^2 and |x|^4."""

    size: int
    first: Tensor
    gram: Tensor
    square: Tensor
    cubic: Tensor
    quartic: Tensor

    @classmethod
    def of(cls, rows: Tensor) -> _Moments:
        squares = rows.square().sum(dim=1)
        return cls(
            len(rows),
            rows.sum(dim=0),
            rows.T @ rows,
            squares.sum(),
            squares @ rows,
            squares.square().sum(),
        )

    def plus(self, other: _Moments) -> _Moments:
        """The moments of all sums x + y of a row of each table."""
        a, b = self, other
        cross = torch.outer(a.first, b.first)
        return _Moments(
            a.size * b.size,
            b.size * a.first + a.size * b.first,
            b.size * a.gram + a.size * b.gram + cross + cross.T,
            b.size * a.square + a.size * b.square + 2 * a.first @ b.first,
            # (x + y)(|x|^2 + 2<x, y> + |y|^2)
            b.size * a.cubic
            + a.size * b.cubic
            + a.first * b.square
            + b.first * a.square
            + 2 * (a.gram @ b.first + b.gram @ a.first),
            # (|x|^2 + 2<x, y> + |y|^2)^2
            b.size * a.quartic
            + a.size * b.quartic
            + 2 * a.square * b.square
            + 4 * (a.gram * b.gram).sum()
            + 4 * (a.cubic @ b.first + a.first @ b.cubic),
        )


def _sum_of_squares_of_shifts(entities: Tensor, shifts: Tensor) -> Tensor:
    """The sum over (h, r, t) of (1 - ||h + r - t||^2)^2, by moments of the sums of three rows."""
    all_sums = _Moments.of(entities).plus(_Moments.of(shifts)).plus(_Moments.of(-entities))
    return all_sums.size - 2 * all_sums.square + all_sums.quartic

"""Hyperbolic: what turns a Euclidean model into its sibling on the Poincare ball."""

from __future__ import annotations

from typing import ClassVar, Unpack

from torch import Tensor, nn
from torch.nn import functional

from hale.data.graph import GraphSize
from hale.engine import poincare
from hale.models.base import ONE
from hale.models.model_options import Options, Similarity
from hale.models.shifted import Shifted
from hale.models.tables import relation_table


class Hyperbolic(Shifted):
    """Turn the head, then shift it by Moebius addition, at the relation's own curvature.

        q = exp_0(T_r v_h) (+)_c exp_0(r'),   score = -d_c(q, exp_0(v_t))^2 + b_h + b_t

    v are tangent vectors at the origin, c = c_r > 0 is trained per relation and starts at one.
    Turns and stretches of v commute with exp_0 or are defined through it, so T_r is that of the
    Euclidean sibling: a class takes this one first and its sibling second.
    """

    similarities: ClassVar[tuple[Similarity, ...]] = ("hyperbolic",)
    own_biases = True

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, dim, **options)
        self.free_curvature = relation_table(size, 1)
        nn.init.constant_(self.free_curvature.weight, ONE)

    def curvature(self, relation: Tensor) -> Tensor:
        """c_r > 0, the ball's curvature being -c_r: (B,) -> (B, 1)."""
        return functional.softplus(self.free_curvature(relation))

    def comparing(self, relation: Tensor) -> Tensor:
        """The curvature."""
        return self.curvature(relation)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> points (B, d) of the relation's ball."""
        c = self.curvature(relation)
        head = poincare.exp0(self.turned(vectors, relation), c)
        return poincare.add(head, poincare.exp0(self.shift(relation), c), c)

    def answer_of(self, queries: Tensor, relation: Tensor) -> Tensor:
        """log_0(q), the tangent vector of the query's point: (B, d), (B,) -> (B, d)."""
        return poincare.log0(queries, self.curvature(relation))

    def similar(
        self, inner: Tensor, query_squares: Tensor, squares: Tensor, beside: Tensor | None
    ) -> Tensor:
        """-d_c(q, exp_0(v))^2 from <q, v>, |q|^2, |v|^2 and c."""
        assert beside is not None
        lengths = squares.clamp_min(1e-14).sqrt()
        return -poincare.squared_distances(inner, query_squares, lengths, beside)

"""TransD."""

from __future__ import annotations

from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.engine import geometry
from hale.models.model_options import Options, Similarity
from hale.models.shifted import Shifted
from hale.models.tables import relation_table


class TransD(Shifted):
    """Project head and tail by vectors of their own and of the relation, then shift the head.

    P_r(e) = e + <p_e, e> w_r
    q = P_r(e_h) + r,   score = -||q - P_r(e_t)||^2          (Ji et al. 2015)

    The row of an entity holds e and its projection p_e. Comparing a query with all entities makes
    no table of projected ones: with a_t = <p_t, e_t>, a number an entity,

        ||q - P_r(e_t)||^2 = ||q - e_t||^2 - 2 a_t (<q, w_r> - <e_t, w_r>) + a_t^2 |w_r|^2

    needs one more product of all pairs, <e_t, w_r>. Entities and relations have the same d, where
    the authors let them differ; they also keep vectors within the unit ball and take the margin
    loss.
    """

    name = "transd"
    formula = "q = e_h + <p_h, e_h> w_r + r, tails projected alike"
    source = "Ji et al., ACL 2015"
    cost = "2d; 2 N d to compare"
    similarities: ClassVar[tuple[Similarity, ...]] = ("projected",)
    vectors_each = 2
    drops_queries = False  # a query is dropped before its projection stands beside it

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, dim, **options)
        self.projection = relation_table(size, dim)
        nn.init.normal_(self.projection.weight, std=self.init_scale)

    def turned(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """The heads projected: (B, 2d), (B,) -> (B, d)."""
        head, strength = self._parts(vectors)
        along: Tensor = self.projection(relation)
        return head + strength.unsqueeze(-1) * along

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, 2d), (B,) -> (B, d)."""
        queries: Tensor = self.dropout(super().transform(vectors, relation))
        return queries

    def _parts(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors e (..., d) and their <p, e> (...) of rows (..., 2d)."""
        vectors, projections = torch.split(rows, self.dim, dim=-1)
        return vectors, (vectors * projections).sum(dim=-1)

    def comparing(self, relation: Tensor) -> Tensor:
        """The projections of the relations w_r: (B,) -> (B, d)."""
        found: Tensor = self.projection(relation)
        return found

    def answer_of(self, queries: Tensor, relation: Tensor) -> Tensor:  # noqa: ARG002
        """The query itself, where no projection moves it: (B, d), (B,) -> (B, 2d)."""
        return torch.cat((queries, torch.zeros_like(queries)), dim=-1)

    def compare(self, queries: Tensor, candidates: Tensor, beside: Tensor | None) -> Tensor:
        """(B, d), (B, K, 2d), (B, d) -> (B, K)."""
        assert beside is not None
        tails, strength = self._parts(candidates)
        projected = tails + strength.unsqueeze(-1) * beside.unsqueeze(1)
        return -geometry.squared_distance(queries.unsqueeze(1), projected)

    def compare_all(self, queries: Tensor, entities: Tensor, beside: Tensor | None) -> Tensor:
        """(B, d), (N, 2d), (B, d) -> (B, N)."""
        assert beside is not None
        tails, strength = self._parts(entities)
        along = (queries * beside).sum(dim=-1, keepdim=True) - beside @ tails.T  # <q - e_t, w_r>
        squares = beside.square().sum(dim=-1, keepdim=True)
        plain = geometry.minus_squared_distances(queries, tails)
        return plain + 2 * strength * along - strength.square() * squares

    def relation_rows(self) -> list[Tensor]:
        """The shifts and projections."""
        return [self.shift.weight, self.projection.weight]

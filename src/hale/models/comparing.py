"""Comparing: how a query meets entities, one by one and all at once."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hale.engine import geometry
from hale.models.model_options import BY_DISTANCE, Similarity


class Comparing(nn.Module):
    """s(q, e) of query vectors and rows of entities, by the similarity of a model.

    Two methods say it all: ``compare`` for candidates of each query's own, ``compare_all`` for the
    same rows for all queries; what both need of the relation beside the query vector comes from
    ``comparing``. A model with another way overrides these, and whoever compares stays as it is.
    """

    similarity: Similarity

    @property
    def by_distance(self) -> bool:
        """Whether s is minus a squared distance: at most 0, and made for an activation."""
        return self.similarity in BY_DISTANCE

    def comparing(self, relation: Tensor) -> Tensor | None:  # noqa: ARG002
        """What a comparison takes beside the vectors: (B,) -> (B, k); None for most models."""
        return None

    def answer_of(self, queries: Tensor, relation: Tensor) -> Tensor:  # noqa: ARG002
        """The rows of entities nearest to query vectors: (B, d), (B,) -> rows as ``entities()``.

        The query itself by L2 distance; by inner product too, up to its length.
        """
        return queries

    def compare(self, queries: Tensor, candidates: Tensor, beside: Tensor | None) -> Tensor:
        """s(q, e) of each query with candidates of its own: (B, d), (B, K, d) -> (B, K)."""
        return self.similar(
            torch.bmm(candidates, queries.unsqueeze(-1)).squeeze(-1),
            queries.square().sum(dim=-1, keepdim=True),
            candidates.square().sum(dim=-1),
            beside,
        )

    def compare_all(self, queries: Tensor, entities: Tensor, beside: Tensor | None) -> Tensor:
        """s(q, e) of each query with all rows of a table: (B, d), (N, d) -> (B, N)."""
        if self.similarity == "dot":
            return queries @ entities.T
        if self.similarity == "l2":
            return geometry.minus_squared_distances(queries, entities)
        return self.similar(
            queries @ entities.T,
            queries.square().sum(dim=-1, keepdim=True),
            entities.square().sum(dim=-1),
            beside,
        )

    def similar(
        self,
        inner: Tensor,
        query_squares: Tensor,
        squares: Tensor,
        beside: Tensor | None,  # noqa: ARG002
    ) -> Tensor:
        """s(q, e) from <q, e> (B, K), |q|^2 (B, 1) and |e|^2 (B, K) or (K,): -> (B, K)."""
        if self.similarity == "dot":
            return inner
        return 2 * inner - query_squares - squares

"""ConvKB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from hale.data.graph import GraphSize
from hale.models.base import Model
from hale.models.model_options import Options, Similarity
from hale.models.tables import relation_table

FILTERS = 50
# Features held at once, however many pairs are compared: 1 MB in float32, which stays in the cache
# (16 MB took four times as long).
CHUNK_ELEMENTS = 1 << 18


class ConvKB(Model):
    """Convolve head, relation and tail, coordinate by coordinate, and weigh what is seen.

    score = sum_f <w_f, relu(a_f e_h + b_f r + c_f e_t + o_f)>      (Nguyen et al. 2018)

    50 filters (a, b, c) of 1 x 3 with an offset o each. The score is no distance and no product
    of a query and an entity: every pair goes through all filters, so ranking takes 100 N d
    multiplications a query, and thousands of times what the kernel takes for L2 distances. Memory
    is bounded: pairs are taken in parts, and their features are made again for the gradient. The
    authors start from the vectors of a trained TransE; here all starts at random, the filters
    around (0.1, 0.1, -0.1). Dropout takes features away for a whole batch.
    """

    name = "convkb"
    formula = "q = [e_h; r], score <w, relu([q; e_t] * filters)>"
    source = "Nguyen et al., NAACL 2018"
    cost = "0; 100 N d to compare"
    similarities: ClassVar[tuple[Similarity, ...]] = ("network",)
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {"allneg": {"batch_size": 64}}
    comparison = 3000  # 46 ms a query among 40,943 entities at d = 32, where L2 takes 0.014 ms
    drops_queries = False  # features are dropped instead
    relation_vector = "relation"

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, dim, **options)
        self.relation = relation_table(size, dim)
        nn.init.normal_(self.relation.weight, std=self.init_scale)
        start = torch.tensor([0.1, 0.1, -0.1, 0.0]).repeat(FILTERS, 1)
        self.filters = nn.Parameter(start + 0.1 * torch.randn(FILTERS, 4))  # a, b, c, o
        self.weights = nn.Parameter(torch.randn(FILTERS, dim) / (FILTERS * dim) ** 0.5)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, 2d)."""
        return torch.cat((vectors, self.relation(relation)), dim=-1)

    def comparing(self, relation: Tensor) -> Tensor:
        """Filters and weights, the same for all relations: (B,) -> (B, 50 (4 + d))."""
        weights = self.dropout(self.weights)
        shared = torch.cat((self.filters.flatten(), weights.flatten()))
        return shared.expand(len(relation), -1)

    def answer_of(self, queries: Tensor, relation: Tensor) -> Tensor:  # noqa: ARG002
        """Head plus relation, where filters like those at the start see nothing: -> (B, d)."""
        head, vectors = queries.chunk(2, dim=-1)
        return head + vectors

    def compare(self, queries: Tensor, candidates: Tensor, beside: Tensor | None) -> Tensor:
        """(B, 2d), (B, K, d) -> (B, K)."""
        return self._in_parts(queries, candidates, beside)

    def compare_all(self, queries: Tensor, entities: Tensor, beside: Tensor | None) -> Tensor:
        """(B, 2d), (N, d) -> (B, N)."""
        return self._in_parts(queries, entities.unsqueeze(0), beside)

    def _in_parts(self, queries: Tensor, tails: Tensor, beside: Tensor | None) -> Tensor:
        """Scores of tails (B, K, d), or of the same ones for all (1, K, d): -> (B, K)."""
        assert beside is not None
        count, width = len(queries), tails.shape[1]
        columns = max(1, min(width, CHUNK_ELEMENTS // (FILTERS * self.dim)))
        rows = max(1, CHUNK_ELEMENTS // (FILTERS * self.dim * columns))
        if not count or not width:
            return queries.new_empty(count, width)
        shared = beside[0]  # every row is the same
        found = []
        for start in range(0, count, rows):
            asked = queries[start : start + rows]
            own = tails if len(tails) == 1 else tails[start : start + rows]
            parts = torch.split(own, columns, dim=1)
            found.append(torch.cat([_again(self._seen, asked, part, shared) for part in parts], 1))
        return torch.cat(found)

    def _seen(self, queries: Tensor, tails: Tensor, shared: Tensor) -> Tensor:
        """(b, 2d), (b or 1, k, d) -> (b, k)."""
        head, relation = queries.unsqueeze(1).chunk(2, dim=-1)  # (b, 1, d)
        filters, weights = shared[: 4 * FILTERS], shared[4 * FILTERS :]
        a, b, c, offset = filters.view(FILTERS, 4, 1).unbind(dim=1)  # (50, 1) each
        fixed = (a * head + b * relation + offset).unsqueeze(1)  # (b, 1, 50, d)
        features = torch.relu(fixed + c * tails.unsqueeze(2))  # (b, k, 50, d)
        return features.flatten(2) @ weights

    def relation_rows(self) -> list[Tensor]:
        """The relations' vectors."""
        return [self.relation.rows()]


def _again(function: object, *given: Tensor) -> Tensor:
    """A function's value; what it computes on the way is made again for its gradient."""
    found: Tensor = checkpoint(function, *given, use_reentrant=False, preserve_rng_state=False)
    return found

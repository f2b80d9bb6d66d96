"""Model: a query vector and the entities; the base scores."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from hale import geometry
from hale.errors import SettingsError
from hale.graph import GraphSize
from hale.models.tables import Table, relation_table

# softplus(ONE) = 1: every relation's scale starts at one.
ONE = math.log(math.e - 1)


class Model(nn.Module, ABC):
    """A knowledge-graph embedding with squared L2 similarity.

    A query (head, relation) is answered by the entities nearest to its vector:

        score(h, r, t) = -||query(h, r) - e_t||^2             (section 3.3)

    Relation r + R is the reciprocal of r, so (t, r + R) asks for heads. A model
    knows nothing of losses, ranking, devices or files.
    """

    name: ClassVar[str]

    def __init__(self, size: GraphSize, dim: int, *, init_scale: float = 0.1) -> None:
        super().__init__()
        self.size = size
        self.dim = dim
        self.entity = Table(size.num_entities, dim)
        nn.init.normal_(self.entity.weight, std=init_scale)
        self.free_scale = relation_table(size, 1)
        nn.init.constant_(self.free_scale.weight, ONE)

    @abstractmethod
    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """The paper's transform function: head vectors (B, d) and relations (B,) -> (B, d)."""

    def query(self, head: Tensor, relation: Tensor) -> Tensor:
        """The query vectors: (B,), (B,) -> (B, d)."""
        return self.transform(self.entity(head), relation)

    def entities(self) -> Tensor:
        """All entity vectors (N, d)."""
        return self.entity.weight

    def scale(self, relation: Tensor) -> Tensor:
        """The relation's positive scale c_r inside the activation: (B,) -> (B,).

        softplus of a free parameter: left free, c_r can cross zero, and the
        loss is not finite from then on.
        """
        return functional.softplus(self.free_scale(relation)).squeeze(-1)

    def score(self, head: Tensor, relation: Tensor, tail: Tensor) -> Tensor:
        """Scores of triples, higher is better: (B,), (B,), (B,) -> (B,)."""
        return -geometry.squared_distance(self.query(head, relation), self.entity(tail))

    def score_all(self, head: Tensor, relation: Tensor) -> Tensor:
        """Scores of all entities as answers: (B,), (B,) -> (B, N)."""
        queries = geometry.lift_queries(self.query(head, relation))
        return torch.mm(-queries, geometry.lift_candidates(self.entities()).T)


def even(dim: int, *, of: str) -> int:
    """``dim`` itself if it is even: rotations act on pairs of coordinates."""
    if dim % 2:
        near = " or ".join(str(size) for size in (dim - 1, dim + 1) if size)
        raise SettingsError([f"{of} needs an even dim, got {dim}; try {near}"])
    return dim

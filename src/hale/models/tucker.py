"""TuckER."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.engine import geometry
from hale.models.base import Model
from hale.models.model_options import Options
from hale.models.norm import Norm
from hale.models.tables import relation_table


class TuckER(Model):
    """Multiply the head by a matrix that the relation mixes from a shared core.

    q = norm(e_h (W x_1 r)), W in R^(k x d x d)      (Balazevic et al. 2019, TuckER)

    norm is batch normalisation, before and after, and dropout stands where the original has it.
    k = min(d, 2R): the relations span no more than that, and the core is what costs.
    """

    name = "tucker"
    formula = "q = e_h (W x_1 r), W a shared core"
    source = "Balazevic et al., EMNLP 2019"
    cost = "d^2, and k d^2 per relation of a batch"
    similarities = ("dot", "l2")
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {"allneg": {"dropout": 0.3}}

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, dim, **options)
        rank = min(dim, 2 * size.num_relations)
        self.relation = relation_table(size, rank)
        nn.init.normal_(self.relation.weight, std=1 / math.sqrt(rank))
        self.core = nn.Parameter(torch.empty(rank, dim * dim))
        nn.init.normal_(self.core, std=1 / math.sqrt(dim))
        self.before = Norm(dim)
        self.after = Norm(dim)
        nn.init.constant_(self.after.weight, start_size(self))

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        head = self.dropout(self.before(vectors))
        used = torch.bincount(relation).nonzero().squeeze(1)
        place = torch.searchsorted(used, relation.contiguous())
        matrices = (self.relation(used) @ self.core).view(-1, self.dim, self.dim)
        queries: Tensor = self.after(geometry.by_relation(head, place, self.dropout(matrices)))
        return queries

    def relation_rows(self) -> list[Tensor]:
        """The relations' mixtures."""
        return [self.relation.weight]


def start_size(model: Model) -> float:
    """The first scale of normalised queries: that of the entities where distances are measured.

    A query of unit coordinates would start farther from every entity than they are from
    each other.
    """
    return model.init_scale if model.similarity == "l2" else 1.0

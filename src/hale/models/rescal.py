"""RESCAL."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Unpack

from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.engine import geometry
from hale.models.base import Model
from hale.models.model_options import Options
from hale.models.tables import relation_table


class RESCAL(Model):
    """Multiply the head by the relation's matrix.

    q = e_h M_r                      (Nickel et al. 2011)
    """

    name = "rescal"
    formula = "q = e_h M_r"
    source = "Nickel et al., ICML 2011"
    cost = "d^2"
    similarities = ("dot", "l2")
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {"allneg": {"dropout": 0.2}}

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, dim, **options)
        self.matrix = relation_table(size, dim * dim)
        nn.init.normal_(self.matrix.weight, std=1 / math.sqrt(dim))

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        matrices = self.matrix.weight.view(-1, self.dim, self.dim)
        return geometry.by_relation(vectors, relation, matrices)

    def relation_rows(self) -> list[Tensor]:
        """The matrices."""
        return [self.matrix.weight]

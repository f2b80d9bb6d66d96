"""Shifted: what RotE, RefE, AttE and MuRE share, and their hyperbolic siblings with them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Unpack

from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.models.base import Model
from hale.models.model_options import Options
from hale.models.tables import relation_table


class Shifted(Model):
    """Turn the head by a linear map of the relation, then shift it: q = T_r e_h + r'."""

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, dim, **options)
        self.shift = relation_table(size, dim)
        nn.init.normal_(self.shift.weight, std=self.init_scale)

    @abstractmethod
    def turned(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """T_r e_h: (B, d), (B,) -> (B, d)."""

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        shift: Tensor = self.shift(relation)
        return self.turned(vectors, relation) + shift

    def relation_rows(self) -> list[Tensor]:
        """The shifts."""
        return [self.shift.rows()]

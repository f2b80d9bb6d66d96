"""TransE."""

from __future__ import annotations

from torch import Tensor, nn

from hale.graph import GraphSize
from hale.models.base import Model
from hale.models.tables import relation_table


class TransE(Model):
    """Shift the head by the relation.

    q = e_h + r                      (HaLE, section 3.3; Bordes et al. 2013)

    Scores by the squared L2 distance, as the paper does for all five models;
    the original takes the distance itself.
    """

    name = "transe"

    def __init__(self, size: GraphSize, dim: int, *, init_scale: float = 0.1) -> None:
        super().__init__(size, dim, init_scale=init_scale)
        self.shift = relation_table(size, dim)
        nn.init.normal_(self.shift.weight, std=init_scale)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        shifted: Tensor = vectors + self.shift(relation)
        return shifted

"""DistMult."""

from __future__ import annotations

from torch import Tensor, nn

from hale.graph import GraphSize
from hale.models.base import Model
from hale.models.tables import relation_table


class DistMult(Model):
    """Stretch the head by the relation, coordinate by coordinate.

    q = e_h * r                      (HaLE, section 3.3; Yang et al. 2015)

    Scores by the squared L2 distance, as the paper does for all five models;
    the original takes the inner product.
    """

    name = "distmult"

    def __init__(self, size: GraphSize, dim: int, *, init_scale: float = 0.1) -> None:
        super().__init__(size, dim, init_scale=init_scale)
        self.stretch = relation_table(size, dim)
        # Around one, so that a query starts at its head and not at the origin.
        nn.init.normal_(self.stretch.weight, mean=1.0, std=init_scale)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        stretched: Tensor = vectors * self.stretch(relation)
        return stretched

"""DistMult."""

from __future__ import annotations

from typing import ClassVar, Unpack

from torch import Tensor

from hale.data.graph import GraphSize
from hale.models.base import Model
from hale.models.model_options import Options, Similarity
from hale.models.tables import Stretches


class DistMult(Model):
    """Stretch the head by the relation, coordinate by coordinate.

    q = e_h * r                      (HaLE, section 3.3; Yang et al. 2015)

    Scores by the squared L2 distance, as the paper does for all five models;
    the original takes the inner product, which ``similarity='dot'`` gives.
    """

    name = "distmult"
    formula = "q = e_h * r"
    source = "Yang et al., ICLR 2015"
    cost = "d"
    relation_vector = "stretch"
    takes_near = True
    similarities: ClassVar[tuple[Similarity, ...]] = ("l2", "dot")

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, dim, **options)
        self.stretch = Stretches(size, dim, self.init_scale, self.near)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        stretched: Tensor = vectors * self.stretch(relation)
        return stretched

    def relation_rows(self) -> list[Tensor]:
        """The stretches."""
        return [self.stretch.rows()]

"""RotL."""

from __future__ import annotations

from typing import Unpack

from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.engine.turns import Rotation, turn
from hale.models.model_options import Options
from hale.models.rote import RotE
from hale.models.tables import relation_table


class RotL(RotE):
    """Rotate the head by the relation, then add by RotL's flexible addition.

    q = Rot(r) e_h (+)_alpha r'      (HaLE, section 3.3; Wang et al. 2021)
    x (+)_alpha y = alpha_r (x + y) / (1 + <x, y>)

    alpha_r is trained per relation and starts at one. Under HaLE the similarity
    is the squared L2 distance, not RotL's own (appendix A.2). Needs an even dim.
    """

    name = "rotl"
    formula = "q = alpha_r (Rot(r) e_h + r') / (1 + <Rot(r) e_h, r'>)"
    source = "Wang et al., EMNLP Findings 2021"
    cost = "5d"

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, dim, **options)
        self.alpha = relation_table(size, 1)
        nn.init.ones_(self.alpha.weight)

    def rotation_parameters(self) -> Rotation:
        """Its tables."""
        return Rotation(self.turn.weight, self.shift.weight, self.alpha.weight)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        return turn(vectors, relation, *self.rotation())

"""RotL."""

from __future__ import annotations

from torch import Tensor, nn

from hale import geometry
from hale.graph import GraphSize
from hale.models.base import Model, even
from hale.models.tables import Turns, relation_table


class RotL(Model):
    """Rotate the head by the relation, then add by RotL's flexible addition.

    q = Rot(r) e_h (+)_alpha r'      (HaLE, section 3.3; Wang et al. 2021)
    x (+)_alpha y = alpha_r (x + y) / (1 + <x, y>)

    alpha_r is trained per relation and starts at one. Under HaLE the similarity
    is the squared L2 distance, not RotL's own (appendix A.2). Needs an even dim.
    """

    name = "rotl"

    def __init__(self, size: GraphSize, dim: int, *, init_scale: float = 0.1) -> None:
        super().__init__(size, even(dim, of="RotL"), init_scale=init_scale)
        self.turn = Turns(size, dim)
        self.shift = relation_table(size, dim)
        self.alpha = relation_table(size, 1)
        nn.init.normal_(self.shift.weight, std=init_scale)
        nn.init.ones_(self.alpha.weight)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        turned = geometry.rotate(self.turn(relation), vectors)
        return geometry.flexible_add(turned, self.shift(relation), self.alpha(relation))

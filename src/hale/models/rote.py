"""RotE."""

from __future__ import annotations

from torch import Tensor, nn

from hale import geometry
from hale.graph import GraphSize
from hale.models.base import Model, even
from hale.models.tables import Turns, relation_table


class RotE(Model):
    """Rotate the head by the relation, then shift it.

    q = Rot(r) e_h + r'              (HaLE, section 3.3; Chami et al. 2020)

    Needs an even dim.
    """

    name = "rote"

    def __init__(self, size: GraphSize, dim: int, *, init_scale: float = 0.1) -> None:
        super().__init__(size, even(dim, of="RotE"), init_scale=init_scale)
        self.turn = Turns(size, dim)
        self.shift = relation_table(size, dim)
        nn.init.normal_(self.shift.weight, std=init_scale)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        shift: Tensor = self.shift(relation)
        return geometry.rotate(self.turn(relation), vectors) + shift

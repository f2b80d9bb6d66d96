"""RotE."""

from __future__ import annotations

from typing import Unpack

from torch import Tensor

from hale.data.graph import GraphSize
from hale.engine.turns import Rotation, turn
from hale.models.model_options import Options
from hale.models.shifted import Shifted
from hale.models.tables import Turns, even


class RotE(Shifted):
    """Rotate the head by the relation, then shift it.

    q = Rot(r) e_h + r'              (HaLE, section 3.3; Chami et al. 2020)

    Needs an even dim.
    """

    name = "rote"
    formula = "q = Rot(r) e_h + r'"
    source = "Chami et al., ACL 2020"
    cost = "3d"
    takes_near = True

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, even(dim, of=type(self).__name__), **options)
        self.turn = Turns(size, dim, self.near)

    def turned(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """Rotated in d/2 planes."""
        return turn(vectors, relation, self.turn.unit())

    def rotation_parameters(self) -> Rotation:
        """Its tables."""
        return Rotation(self.turn.weight, self.shift.weight)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """Turned and shifted at once."""
        return turn(vectors, relation, *self.rotation())

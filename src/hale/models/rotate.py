"""RotatE."""

from __future__ import annotations

from typing import Unpack

from torch import Tensor

from hale.data.graph import GraphSize
from hale.engine.turns import Rotation, turn
from hale.models.base import Model
from hale.models.model_options import Options
from hale.models.tables import Turns, even


class RotatE(Model):
    """Rotate the head by the relation, in d/2 planes.

    q = Rot(r) e_h                   (HaLE, section 3.3; Sun et al. 2019)

    Needs an even dim.
    """

    name = "rotate"
    formula = "q = Rot(r) e_h"
    source = "Sun et al., ICLR 2019"
    cost = "2d"
    takes_near = True

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, even(dim, of="RotatE"), **options)
        self.turn = Turns(size, dim, self.near)

    def rotation_parameters(self) -> Rotation:
        """Its tables."""
        return Rotation(self.turn.weight)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        return turn(vectors, relation, *self.rotation())

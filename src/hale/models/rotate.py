"""RotatE."""

from __future__ import annotations

from torch import Tensor

from hale import geometry
from hale.graph import GraphSize
from hale.models.base import Model, even
from hale.models.tables import Turns


class RotatE(Model):
    """Rotate the head by the relation, in d/2 planes.

    q = Rot(r) e_h                   (HaLE, section 3.3; Sun et al. 2019)

    Needs an even dim.
    """

    name = "rotate"

    def __init__(self, size: GraphSize, dim: int, *, init_scale: float = 0.1) -> None:
        super().__init__(size, even(dim, of="RotatE"), init_scale=init_scale)
        self.turn = Turns(size, dim)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        return geometry.rotate(self.turn(relation), vectors)

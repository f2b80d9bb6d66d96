"""RefE."""

from __future__ import annotations

from typing import Unpack

from torch import Tensor

from hale.data.graph import GraphSize
from hale.engine import geometry
from hale.models.model_options import Options
from hale.models.shifted import Shifted
from hale.models.tables import Turns, even


class RefE(Shifted):
    """Reflect the head by the relation, then shift it.

    q = Ref(r) e_h + r'              (Chami et al. 2020)

    Needs an even dim.
    """

    name = "refe"
    formula = "q = Ref(r) e_h + r'"
    source = "Chami et al., ACL 2020"
    cost = "3d"

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, even(dim, of=type(self).__name__), **options)
        self.mirror = Turns(size, dim)

    def turned(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """Reflected in d/2 planes."""
        return geometry.reflect(self.mirror(relation), vectors)

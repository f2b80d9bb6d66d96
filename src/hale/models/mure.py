"""MuRE."""

from __future__ import annotations

from typing import Unpack

from torch import Tensor

from hale.data.graph import GraphSize
from hale.models.model_options import Options
from hale.models.shifted import Shifted
from hale.models.tables import Stretches


class MuRE(Shifted):
    """Stretch the head by the relation, then shift it.

    q = R_r e_h + r', R_r diagonal   (Balazevic et al. 2019)

    The original shifts the tail; with a reciprocal of every relation it is the same family.
    """

    name = "mure"
    formula = "q = R_r * e_h + r'"
    source = "Balazevic et al., NeurIPS 2019"
    cost = "2d"
    takes_near = True

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, dim, **options)
        self.stretch = Stretches(size, dim, self.init_scale, self.near)

    def turned(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """Stretched, coordinate by coordinate."""
        stretched: Tensor = vectors * self.stretch(relation)
        return stretched

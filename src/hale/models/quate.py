"""QuatE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.engine import geometry
from hale.errors import SettingsError
from hale.models.base import Model
from hale.models.model_options import Options
from hale.models.tables import relation_table


class QuatE(Model):
    """Multiply the head by the relation as quaternions, the relation's of length one.

    q = e_h (x) r / |r|, the Hamilton product of d/4 quaternions      (Zhang et al. 2019)

    A quaternion is four coordinates in a row, a + bi + cj + dk. The authors penalise entities and
    relations by their squares; ``penalty`` with ``penalty_power`` 2 does. Needs a dim that
    divides by four.
    """

    name = "quate"
    formula = "q = e_h (x) r / |r|, quaternions"
    source = "Zhang et al., NeurIPS 2019"
    cost = "4d"
    similarities = ("dot", "l2")
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {"allneg": {"penalty": 0.005}}
    relation_vector = "factor"

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        if dim % 4:
            near = " or ".join(str(one) for one in (dim - dim % 4, dim - dim % 4 + 4) if one)
            raise SettingsError([f"QuatE needs a dim that divides by 4, got {dim}; try {near}"])
        super().__init__(size, dim, **options)
        self.factor = relation_table(size, dim)
        nn.init.normal_(self.factor.weight, std=self.init_scale)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        return geometry.hamilton(vectors, geometry.unit_groups(self.factor(relation), 4))

    def relation_rows(self) -> list[Tensor]:
        """The factors."""
        return [self.factor.rows()]

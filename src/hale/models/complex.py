"""ComplEx."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.engine import geometry
from hale.models.base import Model
from hale.models.model_options import Options
from hale.models.tables import even, relation_table


class ComplEx(Model):
    """Multiply the head by the relation as complex numbers.

    q = e_h r, over d/2 complex numbers; <q, e_t> = Re(sum e_h r conj(e_t))
                                     (Trouillon et al. 2016)

    Its penalty is laid on moduli, as Lacroix et al. (2018) do. Needs an even dim.
    """

    name = "complex"
    formula = "q = e_h r, complex; score Re<e_h, r, conj(e_t)>"
    source = "Trouillon et al., ICML 2016"
    cost = "2d"
    relation_vector = "factor"
    similarities = ("dot", "l2")
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {"allneg": {"penalty": 0.005}}

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, even(dim, of="ComplEx"), **options)
        self.factor = relation_table(size, dim)
        nn.init.normal_(self.factor.weight, std=self.init_scale)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        return geometry.rotate(self.factor(relation), vectors)

    def sizes(self, rows: Tensor) -> Tensor:
        """Moduli: (n, d) -> (n, d/2)."""
        pairs = rows.reshape(len(rows), -1, 2)
        return pairs.square().sum(dim=-1).clamp_min(1e-20).sqrt()

    def relation_rows(self) -> list[Tensor]:
        """The factors."""
        return [self.factor.rows()]

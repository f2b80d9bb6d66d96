"""Rot2L."""

from __future__ import annotations

from typing import Unpack

from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.engine.turns import turn
from hale.models.base import Model
from hale.models.model_options import Options
from hale.models.tables import Turns, even, relation_table


class Rot2L(Model):
    """Rotate the head and add by RotL's flexible addition, twice.

    x = Rot(r_1) e_h (+)_alpha1 r'_1
    q = Rot(r_2) x (+)_alpha2 r'_2        (Wang et al. 2021)

    Each layer has a rotation, a shift and an alpha of its own for every relation. Whether the
    authors share some of them between the layers, or put a function in between, could not be
    checked against their text: this is the stack as their abstract describes it. As with RotL,
    the similarity is the squared L2 distance, not their own. Needs an even dim.
    """

    name = "rot2l"
    formula = "q = Rot(r_2) (Rot(r_1) e_h (+)_alpha1 r'_1) (+)_alpha2 r'_2"
    source = "Wang et al., EMNLP Findings 2021"
    cost = "10d"
    takes_near = True

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, even(dim, of="Rot2L"), **options)
        self.turn, self.second_turn = (Turns(size, dim, self.near) for _ in range(2))
        self.shift, self.second_shift = (relation_table(size, dim) for _ in range(2))
        self.alpha, self.second_alpha = (relation_table(size, 1) for _ in range(2))
        for shift, alpha in ((self.shift, self.alpha), (self.second_shift, self.second_alpha)):
            nn.init.normal_(shift.weight, std=self.init_scale)
            nn.init.ones_(alpha.weight)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        turns = self.turn.unit(), self.second_turn.unit()
        inner = turn(vectors, relation, turns[0], self.shift.weight, self.alpha.weight)
        return turn(inner, relation, turns[1], self.second_shift.weight, self.second_alpha.weight)

    def relation_rows(self) -> list[Tensor]:
        """The shifts of both layers."""
        return [self.shift.weight, self.second_shift.weight]

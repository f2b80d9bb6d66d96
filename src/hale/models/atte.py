"""AttE."""

from __future__ import annotations

import math
from typing import Unpack

import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.engine import geometry
from hale.models.model_options import Options
from hale.models.shifted import Shifted
from hale.models.tables import Turns, even, relation_table


class AttE(Shifted):
    """Rotate and reflect the head, and let attention weigh the two; then shift it.

    q = w Rot(r) e_h + (1 - w) Ref(r) e_h + r'
    w = sigmoid(<a_r, Rot(r) e_h - Ref(r) e_h> / sqrt(d))      (Chami et al. 2020)

    The softmax of two numbers, written as the sigmoid that it is. Needs an even dim.
    """

    name = "atte"
    formula = "q = w Rot(r) e_h + (1 - w) Ref(r) e_h + r'"
    source = "Chami et al., ACL 2020"
    cost = "8d"
    takes_near = True

    def __init__(self, size: GraphSize, dim: int, **options: Unpack[Options]) -> None:
        super().__init__(size, even(dim, of=type(self).__name__), **options)
        self.turn = Turns(size, dim, self.near)
        self.mirror = Turns(size, dim)
        self.context = relation_table(size, dim)
        nn.init.normal_(self.context.weight, std=self.init_scale)

    def turned(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """Rotated and reflected, by attention."""
        rotated = geometry.rotate(self.turn(relation), vectors)
        reflected = geometry.reflect(self.mirror(relation), vectors)
        difference = rotated - reflected
        favour = (self.context(relation) * difference).sum(dim=-1, keepdim=True)
        return reflected + torch.sigmoid(favour / math.sqrt(self.dim)) * difference

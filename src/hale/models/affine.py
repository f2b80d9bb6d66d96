"""AffinE."""

from __future__ import annotations

import math
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.engine.maps import affine
from hale.models.base import Model
from hale.models.model_options import Options
from hale.models.tables import RelationTable, relation_table
from hale.settings.space import Choice, Space


class AffinE(Model):
    """Map the head by blocks of the relation, then shift it.

    q = B_r e_h + r', B_r block-diagonal of k x k blocks

    A model of our own. Rotations of the plane are its case k = 2 with orthogonal blocks (RotE),
    a diagonal its case k = 1 (MuRE). Larger blocks need not commute, so a path of two relations
    depends on their order; unlike those of OTE (Tang et al. 2020) they are not kept orthogonal,
    and unlike block-diagonal RESCAL's they act on points between which distances are measured.
    k is the most up to ``group_size`` that divides dim.

    The blocks start orthogonal, drawn evenly among all such. With ``near`` the identity is mixed
    into what they are drawn from: at 1 they start as it.
    """

    name = "affine"
    formula = "q = B_r e_h + r', B_r of k x k blocks"
    source = "hale, after OTE (Tang et al., ACL 2020) and MuRE"
    cost = "k d + d"
    takes_near = True
    uses = frozenset({"group_size"})
    space: ClassVar[Space] = (Choice("group_size", (2, 4, 8)),)

    def __init__(
        self,
        size: GraphSize,
        dim: int,
        *,
        group_size: int = 4,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(size, dim, **options)
        self.block_maps = k = fitting(group_size, dim)
        self.map = BlockMaps(size, dim, k, self.near)
        self.shift = relation_table(size, dim)
        nn.init.normal_(self.shift.weight, std=self.init_scale)

    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """(B, d), (B,) -> (B, d)."""
        return affine(vectors, relation, self.map.blocks(), self.shift.weight)

    def relation_rows(self) -> list[Tensor]:
        """The shifts: a penalty on the blocks would draw them to zero, not to an isometry."""
        return [self.shift.weight]


class BlockMaps(RelationTable):
    """The blocks of each relation (2R, d k), row by row, orthogonal at the start."""

    def __init__(self, size: GraphSize, dim: int, k: int, near: float) -> None:
        super().__init__(size, dim * k)
        self.k = k
        if self.weight.is_meta:  # a blank one (engine.blank)
            return
        drawn = torch.randn(2 * size.num_relations, dim // k, k, k)
        mixed = (1 - near) * drawn + near * math.sqrt(k) * torch.eye(k)
        left, _, right = torch.linalg.svd(mixed)
        with torch.no_grad():
            self.weight.copy_((left @ right).reshape(self.weight.shape))

    def blocks(self) -> Tensor:
        """(2R, d, k)."""
        return self.weight.view(len(self.weight), -1, self.k)


def fitting(most: int, dim: int) -> int:
    """The size of the largest blocks that fill ``dim``, of ``most`` coordinates or fewer."""
    return max(size for size in range(1, most + 1) if dim % size == 0)

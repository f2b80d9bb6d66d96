"""Residual: what a small network adds to a query, beside the transform of its model."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.models.dropout import Dropout
from hale.models.tables import relation_table


class Residual(nn.Module):
    """A network with one hidden layer over head and relation, shared by all relations.

        q = T_r(h) + W_2 relu(W_1 [h; z_r] + b) + b'      W_1 (w, 2d), W_2 (d, w), z_r (d,)

    T_r is the model's transform function and z_r a code of the relation, trained. Rotations and
    their kind move all heads of a relation alike; the network moves some of them further. W_2
    starts at zero, so queries start as the model has them. The answers are still the entities
    nearest to the query.
    """

    def __init__(
        self, size: GraphSize, dim: int, width: int, dropout: Dropout, *, init_scale: float
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.code = relation_table(size, dim)
        nn.init.normal_(self.code.weight, std=init_scale)
        self.inner = nn.Parameter(torch.empty(width, 2 * dim))
        nn.init.normal_(self.inner, std=1 / math.sqrt(2 * dim))
        self.inner_bias = nn.Parameter(torch.zeros(width))
        self.outer = nn.Parameter(torch.zeros(dim, width))
        self.outer_bias = nn.Parameter(torch.zeros(dim))

    def forward(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """Head vectors (B, d) and relations (B,) -> what is added to their queries (B, d)."""
        both = torch.cat((vectors, self.code(relation)), dim=1)
        hidden = self.dropout(torch.addmm(self.inner_bias, both, self.inner.T).relu())
        return torch.addmm(self.outer_bias, hidden, self.outer.T)

"""Weighted: the layers of SACN's encoder, WGCN."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.models.dropout import Dropout
from hale.models.encoders.base import Encoder, glorot
from hale.models.encoders.edges import Ways
from hale.models.model_options import Encoding
from hale.models.norm import Norm
from hale.models.tables import RelationTable


class Weighted(Encoder):
    """One matrix for all, and a trained weight for each relation (Shang et al. 2019).

    x'_i = tanh(norm((x_i + sum over facts (j, r, i) of alpha_r x_j) W))

    norm is batch normalisation over the entities, as in the authors' code. A relation and its
    reciprocal have weights of their own, where the authors' share one; they start at one.
    """

    name = "wgcn"
    formula = "x'_i = tanh(norm((x_i + sum_(j,r) alpha_r x_j) W))"
    source = "Shang et al., AAAI 2019"
    layers = 2

    def __init__(
        self, size: GraphSize, dim: int, encoding: Encoding, *, start: float, dropout: Dropout
    ) -> None:
        super().__init__(size, dim, encoding, start=start, dropout=dropout)
        self.alphas, self.norms = nn.ModuleList(), nn.ModuleList()
        self.matrices = nn.ParameterList()
        for number in range(self.depth):
            alpha, norm = RelationTable(size, 1), Norm(dim)
            nn.init.ones_(alpha.weight)
            nn.init.constant_(norm.weight, start if number == self.depth - 1 else 1.0)
            self.alphas.append(alpha)
            self.norms.append(norm)
            self.matrices.append(glorot(dim, dim))

    def forward(
        self, entities: Tensor, relations: Tensor | None, ways: Ways
    ) -> tuple[Tensor, Tensor | None]:
        """The relations stay as they are."""
        x = entities
        for alpha, matrix, norm in zip(self.alphas, self.matrices, self.norms, strict=True):
            told = x
            for way in ways:
                told = told + way.scatter(alpha(way.relation) * way.gather(x))
            x = self.dropout(torch.tanh(norm(told @ matrix)))
        return x, relations

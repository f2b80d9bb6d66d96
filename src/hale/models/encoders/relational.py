"""Relational: the layers of R-GCN."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.models.dropout import Dropout
from hale.models.encoders.base import Encoder, glorot
from hale.models.encoders.edges import Edges, Ways
from hale.models.model_options import Encoding
from hale.models.tables import RelationTable

BASES = 2


class Relational(Encoder):
    """A matrix per relation, mixed from a few that all share (Schlichtkrull et al. 2018).

    x'_i = W_0 x_i + 1/c_i sum over facts (j, r, i) of W_r x_j,   W_r = sum_b a_rb V_b

    c_i counts all facts that tell i something, as in the authors' link prediction; a rectifier
    stands between layers, not after the last. W_r is never made: the senders of a relation are
    mixed for each basis, then multiplied by it.
    """

    name = "rgcn"
    formula = "x'_i = W_0 x_i + 1/c_i sum_(j,r) (sum_b a_rb V_b) x_j"
    source = "Schlichtkrull et al., ESWC 2018"
    uses = frozenset({"bases"})

    def __init__(
        self, size: GraphSize, dim: int, encoding: Encoding, *, start: float, dropout: Dropout
    ) -> None:
        super().__init__(size, dim, encoding, start=start, dropout=dropout)
        bases = encoding.bases or BASES
        self.mixtures = nn.ModuleList()  # a_rb
        self.bases = nn.ParameterList()  # V_b, one below the other
        self.loops = nn.ParameterList()
        for _ in range(self.depth):
            mixture = RelationTable(size, bases)
            nn.init.normal_(mixture.weight, std=bases**-0.5)
            self.mixtures.append(mixture)
            self.bases.append(nn.Parameter(torch.cat([glorot(dim, dim) for _ in range(bases)])))
            self.loops.append(glorot(dim, dim))

    def forward(
        self, entities: Tensor, relations: Tensor | None, ways: Ways
    ) -> tuple[Tensor, Tensor | None]:
        """The relations stay as they are."""
        x = entities
        received = ways[0].received + ways[1].received
        for number, (mixture, bases, loop) in enumerate(
            zip(self.mixtures, self.bases, self.loops, strict=True)
        ):
            there, back = (_mixed(way, mixture(way.relation), x) for way in ways)
            x = (there + back) @ bases / received.clamp_min(1) + x @ loop
            if number < self.depth - 1:
                x = self.dropout(torch.relu(x))
        return x, relations


def _mixed(way: Edges, shares: Tensor, vectors: Tensor) -> Tensor:
    """What entities are told, by basis: shares (P, b) of the pairs, vectors (N, d) -> (N, b d)."""
    told = way.gather(vectors)  # (P, d)
    return torch.cat([way.scatter(share.unsqueeze(1) * told) for share in shares.T], dim=1)

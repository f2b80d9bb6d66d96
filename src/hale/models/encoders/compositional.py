"""Compositional: the layers of CompGCN."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.models.dropout import Dropout
from hale.models.encoders.base import Encoder, glorot
from hale.models.encoders.edges import Ways
from hale.models.model_options import Composition, Encoding
from hale.models.norm import Norm


class Composing(NamedTuple):
    """A composition phi(x, z), linear in x, so that it takes sums of x in its place.

    ``into`` and ``back`` lead to and from the numbers that it is made in; ``compose`` takes the sum
    of some x there (P, k), how much they weigh together (P, 1), and z there (P, k) or (1, k).
    """

    into: Callable[[Tensor], Tensor]
    compose: Callable[[Tensor, Tensor, Tensor], Tensor]
    back: Callable[[Tensor, int], Tensor]


def _same(vectors: Tensor) -> Tensor:
    return vectors


def _back(vectors: Tensor, dim: int) -> Tensor:  # noqa: ARG001
    return vectors


def _to_waves(vectors: Tensor) -> Tensor:
    """(n, d) -> (n, 2 (d // 2 + 1)), real and imaginary parts of the Fourier transform."""
    return torch.view_as_real(torch.fft.rfft(vectors)).flatten(1)


def _from_waves(waves: Tensor, dim: int) -> Tensor:
    pairs = torch.view_as_complex(waves.contiguous().view(len(waves), -1, 2))
    vectors: Tensor = torch.fft.irfft(pairs, n=dim)
    return vectors


def _correlate(x: Tensor, weight: Tensor, z: Tensor) -> Tensor:  # noqa: ARG001
    a, b = (torch.view_as_complex(part.view(len(part), -1, 2)) for part in (x, z))
    return torch.view_as_real(a.conj() * b).flatten(1)


# sub: x - z; mult: x * z; corr: the circular correlation, entry k = sum_i x_i z_(i + k mod d)
COMPOSITIONS: Mapping[Composition, Composing] = {
    "sub": Composing(_same, lambda x, weight, z: x - weight * z, _back),
    "mult": Composing(_same, lambda x, _, z: x * z, _back),
    "corr": Composing(_to_waves, _correlate, _from_waves),
}
OWN: Composition = "corr"


class Compositional(Encoder):
    """Messages composed of sender and relation; relations are encoded too (Vashishth et al. 2020).

    x'_i = tanh(norm(1/3 [phi(x_i, z_0) W_0 + sum_out c_ji phi(x_j, z_r) W_out + sum_in ... W_in]))
    z'_r = z_r W_rel

    sum_out runs over facts (j, r, i), sum_in over reciprocals, c_ji = 1 / sqrt(sent_j received_i)
    in each. phi is linear in x, so senders are summed up before it. The authors' code normalises
    by the senders' counts alone; its three matrices and its normalisation over entities are these.
    """

    name = "compgcn"
    formula = "x'_i = tanh(norm(sum_(j,r) phi(x_j, z_r) W_dir)), z'_r = z_r W_rel"
    source = "Vashishth et al., ICLR 2020"
    uses = frozenset({"composition"})
    encodes_relations = True

    def __init__(
        self, size: GraphSize, dim: int, encoding: Encoding, *, start: float, dropout: Dropout
    ) -> None:
        super().__init__(size, dim, encoding, start=start, dropout=dropout)
        self.composing = COMPOSITIONS[encoding.composition or OWN]
        self.matrices = nn.ParameterList()  # W_0, W_out and W_in, one below the other
        self.relation_matrices, self.loops = nn.ParameterList(), nn.ParameterList()
        self.norms = nn.ModuleList()
        for number in range(self.depth):
            norm = Norm(dim)
            nn.init.constant_(norm.weight, start if number == self.depth - 1 else 1.0)
            self.norms.append(norm)
            self.matrices.append(nn.Parameter(torch.cat([glorot(dim, dim) for _ in range(3)])))
            self.relation_matrices.append(glorot(dim, dim))
            self.loops.append(glorot(1, dim))

    def forward(
        self, entities: Tensor, relations: Tensor | None, ways: Ways
    ) -> tuple[Tensor, Tensor | None]:
        """(N, d), (2R, d) -> (N, d), (2R, d)."""
        assert relations is not None
        x, z, one = entities, relations, entities.new_ones(1, 1)
        into, compose, back = self.composing
        for number, norm in enumerate(self.norms):
            waves = into(z)
            parts = [back(compose(into(x), one, into(self.loops[number])), self.dim)]
            for way in ways:
                sent, received = (
                    count.clamp_min(1).to(x.dtype).rsqrt() for count in (way.sent, way.received)
                )
                z_pairs = waves.index_select(0, way.relation)  # (P, k)
                messages = compose(way.gather(into(sent * x)), way.gather(sent), z_pairs)
                parts.append(self.dropout(received * back(way.scatter(messages), self.dim)))
            x = torch.tanh(norm(torch.cat(parts, dim=1) @ self.matrices[number] / 3))
            x = self.dropout(x)
            z = z @ self.relation_matrices[number]
        return x, z

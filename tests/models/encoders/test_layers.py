"""One layer of each encoder against a loop over facts in plain Python."""

from __future__ import annotations

import math

import pytest
import torch

from hale.data.graph import GraphSize
from hale.models.dropout import Dropout
from hale.models.encoders import ENCODERS, Encoder, encoder_class
from hale.models.encoders.edges import both_ways
from hale.models.model_options import Encoding

SIZE = GraphSize(num_entities=6, num_relations=2)
DIM = 5  # odd, so that the Fourier transform has no middle
# (2, 0, 1) has two senders of one relation; a loop; entity 5 has no fact.
FACTS = [(0, 0, 1), (2, 0, 1), (0, 1, 3), (3, 1, 4), (4, 0, 4), (1, 1, 0)]
BACK = [(tail, relation + 2, head) for head, relation, tail in FACTS]

Rows = list[list[float]]


def build(name: str, **asked: object) -> Encoder:
    torch.manual_seed(4)
    encoding = Encoding(**{"layers": 1, **asked})  # type: ignore[arg-type]
    encoder = encoder_class(name)(SIZE, DIM, encoding, start=1.0, dropout=Dropout(0.0))
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        for key, buffer in encoder.named_buffers():
            if "running" in key:
                buffer.add_(torch.rand_like(buffer))
    return encoder.double().eval()


def times(vector: list[float], matrix: Rows) -> list[float]:
    return [
        sum(x * row[j] for x, row in zip(vector, matrix, strict=True))
        for j in range(len(matrix[0]))
    ]


def plus(*vectors: list[float]) -> list[float]:
    return [sum(parts) for parts in zip(*vectors, strict=True)]


def scaled(factor: float, vector: list[float]) -> list[float]:
    return [factor * x for x in vector]


def normed(norm: torch.nn.BatchNorm1d, vector: list[float]) -> list[float]:
    figures = (norm.running_mean, norm.running_var, norm.weight, norm.bias)
    return [
        (x - mean) / math.sqrt(var + 1e-5) * weight + bias
        for x, mean, var, weight, bias in zip(vector, *(f.tolist() for f in figures), strict=True)
    ]


def rgcn(encoder: Encoder, x: Rows, z: Rows) -> tuple[Rows, Rows]:
    shares, stacked = encoder.mixtures[0].weight.tolist(), encoder.bases[0].tolist()
    count = len(shares[0])
    told = [scaled(0.0, row) for row in x]
    received = [0] * len(x)
    for sender, relation, receiver in FACTS + BACK:
        received[receiver] += 1
        for basis in range(count):
            matrix = stacked[basis * DIM : (basis + 1) * DIM]
            message = scaled(shares[relation][basis], times(x[sender], matrix))
            told[receiver] = plus(told[receiver], message)
    loop = encoder.loops[0].tolist()
    out = [
        plus(times(row, loop), scaled(1 / max(1, count), sums))
        for row, sums, count in zip(x, told, received, strict=True)
    ]
    return out, z


def wgcn(encoder: Encoder, x: Rows, z: Rows) -> tuple[Rows, Rows]:
    alpha = encoder.alphas[0].weight.tolist()
    told = [list(row) for row in x]
    for sender, relation, receiver in FACTS + BACK:
        told[receiver] = plus(told[receiver], scaled(alpha[relation][0], x[sender]))
    matrix = encoder.matrices[0].tolist()
    return [[math.tanh(v) for v in normed(encoder.norms[0], times(t, matrix))] for t in told], z


def composed(how: str, x: list[float], z: list[float]) -> list[float]:
    if how == "sub":
        return [a - b for a, b in zip(x, z, strict=True)]
    if how == "mult":
        return [a * b for a, b in zip(x, z, strict=True)]
    return [sum(x[i] * z[(i + k) % DIM] for i in range(DIM)) for k in range(DIM)]


def compgcn(encoder: Encoder, x: Rows, z: Rows, how: str) -> tuple[Rows, Rows]:
    matrices = encoder.matrices[0].tolist()
    own, out, back = (matrices[i * DIM : (i + 1) * DIM] for i in range(3))
    loop = encoder.loops[0].tolist()[0]
    sums = [times(composed(how, row, loop), own) for row in x]
    for facts, matrix in ((FACTS, out), (BACK, back)):
        sent = [sum(a == i for a, _, _ in facts) for i in range(len(x))]
        received = [sum(b == i for _, _, b in facts) for i in range(len(x))]
        for sender, relation, receiver in facts:
            message = times(composed(how, x[sender], z[relation]), matrix)
            weight = 1 / math.sqrt(sent[sender] * received[receiver])
            sums[receiver] = plus(sums[receiver], scaled(weight, message))
    vectors = [[math.tanh(v) for v in normed(encoder.norms[0], scaled(1 / 3, s))] for s in sums]
    return vectors, [times(row, encoder.relation_matrices[0].tolist()) for row in z]


LOOPS = {
    ("rgcn", "bases", 2): rgcn,
    ("rgcn", "bases", 3): rgcn,
    ("wgcn", "layers", 1): wgcn,
    **{
        ("compgcn", "composition", how): lambda e, x, z, how=how: compgcn(e, x, z, how)
        for how in ("sub", "mult", "corr")
    },
}


def test_every_encoder_has_its_loop() -> None:
    assert {name for name, _, _ in LOOPS} == set(ENCODERS)


@pytest.mark.parametrize("case", LOOPS, ids=str)
def test_a_layer_is_a_loop_over_facts(case: tuple[str, str, object]) -> None:
    name, option, value = case
    encoder = build(name, **{option: value})
    x, z = torch.randn(6, DIM).double(), torch.randn(4, DIM).double()
    relations = z if encoder.encodes_relations else None
    found, made = encoder(x, relations, both_ways(torch.tensor(FACTS), SIZE))
    wanted, wanted_z = LOOPS[case](encoder, x.tolist(), z.tolist())
    torch.testing.assert_close(found, torch.tensor(wanted, dtype=torch.float64))
    if made is not None:
        torch.testing.assert_close(made, torch.tensor(wanted_z, dtype=torch.float64))


@pytest.mark.parametrize("name", ENCODERS)
def test_two_layers_reach_two_steps_away(name: str) -> None:
    """4 tells 3 of itself, and by that 0, which no fact joins to 4."""
    reached = {}
    for layers in (1, 2):
        encoder = build(name, layers=layers).train()
        for norm in (m for m in encoder.modules() if isinstance(m, torch.nn.BatchNorm1d)):
            norm.eval()  # over a batch, everything depends on everything
        x = torch.randn(6, DIM).double().requires_grad_()
        z = torch.randn(4, DIM).double() if encoder.encodes_relations else None
        found, _ = encoder(x, z, both_ways(torch.tensor(FACTS), SIZE))
        (gradient,) = torch.autograd.grad(found[0].sum(), x)
        reached[layers] = gradient.abs().sum(dim=1) > 0
    assert reached[1].tolist() == [True, True, False, True, False, False]
    assert reached[2].tolist() == [True, True, True, True, True, False]

"""Every model against its formula in plain Python scalars."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.engine.rows import with_rows
from hale.errors import SettingsError, UnknownNameError
from hale.models import MODELS, Model, make_model
from hale.models.affine import AffinE
from hale.models.conve import image_shape
from hale.models.encoded import Encoded
from hale.models.tables import Table

SIZE = GraphSize(num_entities=7, num_relations=2)
FACTS = torch.tensor([[0, 0, 1], [2, 0, 1], [0, 1, 3], [4, 1, 5], [5, 0, 6], [1, 1, 1]])
DIM = 12  # even, of quaternions, and an image


def row(table: Table, index: int) -> list[float]:
    return [float(value) for value in table.rows().detach()[index]]


def rotated(turn: list[float], vector: list[float]) -> list[float]:
    """Each pair as a complex number times the unit number of the pair in ``turn``."""
    out: list[float] = []
    for i in range(0, len(vector), 2):
        unit = complex(turn[i], turn[i + 1]) / abs(complex(turn[i], turn[i + 1]))
        z = unit * complex(vector[i], vector[i + 1])
        out += [z.real, z.imag]
    return out


def transe(model: Model, head: list[float], relation: int) -> list[float]:
    return [h + r for h, r in zip(head, row(model.shift, relation), strict=True)]


def distmult(model: Model, head: list[float], relation: int) -> list[float]:
    return [h * r for h, r in zip(head, row(model.stretch, relation), strict=True)]


def rotate(model: Model, head: list[float], relation: int) -> list[float]:
    return rotated(row(model.turn, relation), head)


def rote(model: Model, head: list[float], relation: int) -> list[float]:
    turned = rotated(row(model.turn, relation), head)
    return [t + r for t, r in zip(turned, row(model.shift, relation), strict=True)]


def rotl(model: Model, head: list[float], relation: int) -> list[float]:
    turned = rotated(row(model.turn, relation), head)
    shift = row(model.shift, relation)
    alpha = row(model.alpha, relation)[0]
    inner = sum(t * r for t, r in zip(turned, shift, strict=True))
    return [alpha * (t + r) / max(1 + inner, 0.1) for t, r in zip(turned, shift, strict=True)]


def mure(model: Model, head: list[float], relation: int) -> list[float]:
    stretch, shift = row(model.stretch, relation), row(model.shift, relation)
    return [h * s + r for h, s, r in zip(head, stretch, shift, strict=True)]


def affine(model: Model, head: list[float], relation: int) -> list[float]:
    """Four coordinates at a time (DIM is 12), each a row of its block times those four."""
    rows, shift, k = row(model.map, relation), row(model.shift, relation), 4
    return [
        shift[i] + sum(rows[i * k + j] * head[i // k * k + j] for j in range(k)) for i in range(DIM)
    ]


def reflected(mirror: list[float], vector: list[float]) -> list[float]:
    """Each pair (x, y) to (x cos a + y sin a, x sin a - y cos a)."""
    out: list[float] = []
    for i in range(0, len(vector), 2):
        angle = math.atan2(mirror[i + 1], mirror[i])
        x, y = vector[i], vector[i + 1]
        out += [x * math.cos(angle) + y * math.sin(angle)]
        out += [x * math.sin(angle) - y * math.cos(angle)]
    return out


def attended(model: Model, head: list[float], relation: int) -> list[float]:
    choices = (
        rotated(row(model.turn, relation), head),
        reflected(row(model.mirror, relation), head),
    )
    context = row(model.context, relation)
    favour = [sum(a * b for a, b in zip(context, c, strict=True)) / math.sqrt(DIM) for c in choices]
    total = sum(math.exp(f) for f in favour)
    share = [math.exp(f) / total for f in favour]
    return [share[0] * a + share[1] * b for a, b in zip(*choices, strict=True)]


def plus_shift(model: Model, vector: list[float], relation: int) -> list[float]:
    return [v + r for v, r in zip(vector, row(model.shift, relation), strict=True)]


def refe(model: Model, head: list[float], relation: int) -> list[float]:
    return plus_shift(model, reflected(row(model.mirror, relation), head), relation)


def atte(model: Model, head: list[float], relation: int) -> list[float]:
    return plus_shift(model, attended(model, head, relation), relation)


def curvature(model: Model, relation: int) -> float:
    return math.log1p(math.exp(row(model.free_curvature, relation)[0]))


def exp0(v: list[float], c: float) -> list[float]:
    length = math.sqrt(c * sum(x * x for x in v))
    return [math.tanh(length) / length * x for x in v]


def moebius(x: list[float], y: list[float], c: float) -> list[float]:
    xy, xx, yy = (
        sum(a * b for a, b in zip(*pair, strict=True)) for pair in ((x, y), (x, x), (y, y))
    )
    below = 1 + 2 * c * xy + c * c * xx * yy
    return [
        ((1 + 2 * c * xy + c * yy) * a + (1 - c * xx) * b) / below
        for a, b in zip(x, y, strict=True)
    ]


def on_ball(turned: Callable[[Model, list[float], int], list[float]]) -> Formula:
    def formula(model: Model, head: list[float], relation: int) -> list[float]:
        c = curvature(model, relation)
        return moebius(
            exp0(turned(model, head, relation), c), exp0(row(model.shift, relation), c), c
        )

    return formula


def rescal(model: Model, head: list[float], relation: int) -> list[float]:
    m = row(model.matrix, relation)
    return [sum(head[i] * m[i * DIM + j] for i in range(DIM)) for j in range(DIM)]


def complex_(model: Model, head: list[float], relation: int) -> list[float]:
    factor = row(model.factor, relation)
    out: list[float] = []
    for i in range(0, DIM, 2):
        z = complex(head[i], head[i + 1]) * complex(factor[i], factor[i + 1])
        out += [z.real, z.imag]
    return out


def normed(norm: nn.BatchNorm1d, vector: list[float]) -> list[float]:
    mean, var = norm.running_mean.tolist(), norm.running_var.tolist()
    weight, bias = norm.weight.tolist(), norm.bias.tolist()
    return [
        (x - m) / math.sqrt(v + 1e-5) * w + b
        for x, m, v, w, b in zip(vector, mean, var, weight, bias, strict=True)
    ]


def tucker(model: Model, head: list[float], relation: int) -> list[float]:
    mix, core, e = row(model.relation, relation), model.core.tolist(), normed(model.before, head)
    out = [
        sum(mix[k] * e[i] * core[k][i * DIM + j] for k in range(len(mix)) for i in range(DIM))
        for j in range(DIM)
    ]
    return normed(model.after, out)


def conve(model: Model, head: list[float], relation: int) -> list[float]:
    width = model.width
    image = normed_image(model.image_norm, head + row(model.relation, relation))
    kernels, offsets = model.filters.weight.tolist(), model.filters.bias.tolist()
    seen: list[float] = []
    for channel, (kernel, offset) in enumerate(zip(kernels, offsets, strict=True)):
        pixels = [
            offset
            + sum(
                kernel[0][y][x] * image[(top + y) * width + left + x]
                for y in range(3)
                for x in range(3)
            )
            for top in range(2 * model.height - 2)
            for left in range(width - 2)
        ]
        norm = model.filter_norm
        mean, var = norm.running_mean[channel].item(), norm.running_var[channel].item()
        w, b = norm.weight[channel].item(), norm.bias[channel].item()
        seen += [max(0.0, (p - mean) / math.sqrt(var + 1e-5) * w + b) for p in pixels]
    weights, biases = model.project.weight.tolist(), model.project.bias.tolist()
    out = [
        b + sum(w * s for w, s in zip(ws, seen, strict=True))
        for ws, b in zip(weights, biases, strict=True)
    ]
    return [max(0.0, x) for x in normed(model.after, out)]


def normed_image(norm: nn.BatchNorm2d, image: list[float]) -> list[float]:
    mean, var = norm.running_mean[0].item(), norm.running_var[0].item()
    return [
        (x - mean) / math.sqrt(var + 1e-5) * norm.weight[0].item() + norm.bias[0].item()
        for x in image
    ]


def rot2l(model: Model, head: list[float], relation: int) -> list[float]:
    x = rotl(model, head, relation)
    turned = rotated(row(model.second_turn, relation), x)
    shift, alpha = row(model.second_shift, relation), row(model.second_alpha, relation)[0]
    inner = sum(t * r for t, r in zip(turned, shift, strict=True))
    return [alpha * (t + r) / max(1 + inner, 0.1) for t, r in zip(turned, shift, strict=True)]


def quate(model: Model, head: list[float], relation: int) -> list[float]:
    """By the table of i, j and k: place i * j of a product is place UNITS[i][j] with its sign."""
    units = [[(0, 1), (1, 1), (2, 1), (3, 1)], [(1, 1), (0, -1), (3, 1), (2, -1)]]
    units += [[(2, 1), (3, -1), (0, -1), (1, 1)], [(3, 1), (2, 1), (1, -1), (0, -1)]]
    factor, out = row(model.factor, relation), [0.0] * len(head)
    for first in range(0, len(head), 4):
        length = math.sqrt(sum(x * x for x in factor[first : first + 4]))
        for i in range(4):
            for j in range(4):
                place, sign = units[i][j]
                out[first + place] += sign * head[first + i] * factor[first + j] / length
    return out


def project(model: Model, entity: list[float], relation: int) -> list[float]:
    vector, projection = entity[:DIM], entity[DIM:]
    strength = sum(a * b for a, b in zip(vector, projection, strict=True))
    along = row(model.projection, relation)
    return [v + strength * w for v, w in zip(vector, along, strict=True)]


def transd(model: Model, head: list[float], relation: int) -> list[float]:
    return plus_shift(model, project(model, head, relation), relation)


def convkb(model: Model, head: list[float], relation: int) -> list[float]:
    return head + row(model.relation, relation)


def convtranse(model: Model, head: list[float], relation: int) -> list[float]:
    pair = []
    for channel, vector in enumerate((head, row(model.relation, relation))):
        pair.append([channel_norm(model.before, channel, x) for x in vector])
    kernels, offsets = model.filters.weight.tolist(), model.filters.bias.tolist()
    seen: list[float] = []
    for channel, (kernel, offset) in enumerate(zip(kernels, offsets, strict=True)):
        for i in range(DIM):
            inside = [(side, k) for side in range(2) for k in range(5) if 0 <= i + k - 2 < DIM]
            pixel = offset + sum(kernel[side][k] * pair[side][i + k - 2] for side, k in inside)
            seen.append(max(0.0, channel_norm(model.filter_norm, channel, pixel)))
    weights, biases = model.project.weight.tolist(), model.project.bias.tolist()
    out = [
        b + sum(w * s for w, s in zip(ws, seen, strict=True))
        for ws, b in zip(weights, biases, strict=True)
    ]
    return [max(0.0, x) for x in normed(model.after, out)]


def channel_norm(norm: nn.BatchNorm1d, channel: int, x: float) -> float:
    mean, var = norm.running_mean[channel].item(), norm.running_var[channel].item()
    return (x - mean) / math.sqrt(var + 1e-5) * norm.weight[channel].item() + norm.bias[
        channel
    ].item()


Formula = Callable[[Model, list[float], int], list[float]]

FORMULAS: dict[str, Formula] = {
    "transe": transe,
    "distmult": distmult,
    "rotate": rotate,
    "rote": rote,
    "rotl": rotl,
    "mure": mure,
    "refe": refe,
    "atte": atte,
    "affine": affine,
    "murp": on_ball(
        lambda model, head, r: [h * s for h, s in zip(head, row(model.stretch, r), strict=True)]
    ),
    "refh": on_ball(lambda model, head, r: reflected(row(model.mirror, r), head)),
    "roth": on_ball(lambda model, head, r: rotated(row(model.turn, r), head)),
    "atth": on_ball(attended),
    "rescal": rescal,
    "complex": complex_,
    "tucker": tucker,
    "conve": conve,
    "rot2l": rot2l,
    "quate": quate,
    "transd": transd,
    "convkb": convkb,
    "convtranse": convtranse,
    # over encoded rows: the encoders have tests of their own
    "rgcn": distmult,
    "compgcn": conve,
    "sacn": convtranse,
}


def similar(model: Model, query: list[float], relation: int, entity: list[float]) -> float:
    """s(q, e): a loop for each of the five."""
    if model.similarity == "projected":
        entity = project(model, entity, relation)
        return -sum((a - b) ** 2 for a, b in zip(query, entity, strict=True))
    if model.similarity == "network":
        head, vector = query[:DIM], query[DIM:]
        return sum(
            w * max(0.0, a * h + b * r + c * t + o)
            for (a, b, c, o), ws in zip(model.filters.tolist(), model.weights.tolist(), strict=True)
            for w, h, r, t in zip(ws, head, vector, entity, strict=True)
        )
    if model.similarity == "dot":
        return sum(a * b for a, b in zip(query, entity, strict=True))
    if model.similarity == "l2":
        return -sum((a - b) ** 2 for a, b in zip(query, entity, strict=True))
    c = curvature(model, relation)
    gap = moebius([-x for x in query], exp0(entity, c), c)
    length = math.sqrt(sum(x * x for x in gap))
    return -((2 / math.sqrt(c) * math.atanh(math.sqrt(c) * length)) ** 2)


def build(name: str, **options: object) -> Model:
    torch.manual_seed(3)
    model = make_model(name, SIZE, DIM, init_scale=0.2, **options).double().eval()
    model.see(FACTS)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        for key, buffer in model.named_buffers():
            if "running" in key:
                buffer.add_(torch.rand_like(buffer))
    return model


def all_queries() -> tuple[Tensor, Tensor]:
    pairs = torch.cartesian_prod(torch.arange(7), torch.arange(4))  # reciprocals included
    return pairs[:, 0], pairs[:, 1]


def test_every_registered_model_is_tested() -> None:
    assert set(FORMULAS) == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_query_and_scores_against_scalars(name: str) -> None:
    model = build(name)
    heads, relations = all_queries()
    scores = model.score_all(heads, relations)
    for i, (head, relation) in enumerate(zip(heads.tolist(), relations.tolist(), strict=True)):
        query = FORMULAS[name](model, row(model.entity, head), relation)
        assert model.query(heads[i : i + 1], relations[i : i + 1])[0].tolist() == pytest.approx(
            query
        )
        for tail in range(7):
            score = similar(model, query, relation, row(model.entity, tail))
            if model.tail_bias is not None:
                score += row(model.head_bias, head)[0] + row(model.tail_bias, tail)[0]
            assert scores[i, tail].item() == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "similarity"), [(n, s) for n, m in MODELS.items() for s in m.similarities]
)
@pytest.mark.parametrize("biases", [True, False])
def test_all_candidates_equal_one_by_one(name: str, similarity: str, biases: bool) -> None:
    model = build(name, similarity=similarity, biases=biases).float()
    heads, relations = all_queries()
    scores = model.score_all(heads, relations)
    several = model.compare(
        model.query(heads, relations),
        model.entities().expand(len(heads), -1, -1),
        model.comparing(relations),
    ) + model.bias(heads, torch.arange(7).expand(len(heads), -1))
    torch.testing.assert_close(scores, several, atol=1e-5, rtol=1e-5)
    for tail in range(7):
        one = model.score(heads, relations, torch.full_like(heads, tail))
        torch.testing.assert_close(scores[:, tail], one, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "name", [name for name, model in MODELS.items() if "l2" in model.similarities]
)
def test_squared_distance_against_scalars(name: str) -> None:
    """What HaLE measures, of models with another similarity too; no rectifier cuts a query off."""
    model = build(name, similarity="l2", biases=False)
    heads, relations = all_queries()
    queries, scores = model.query(heads, relations), model.score_all(heads, relations)
    for i, query in enumerate(queries.tolist()):
        wanted = [similar(model, query, 0, row(model.entity, tail)) for tail in range(7)]
        assert scores[i].tolist() == pytest.approx(wanted, abs=1e-12)
    if name == "conve":
        assert (queries < 0).any()


@pytest.mark.parametrize(
    "name", [name for name, model in MODELS.items() if "l2" in model.similarities]
)
def test_heights_stand_back_and_queries_have_none(name: str) -> None:
    """The score falls by the square of the answer's height; the head's own plays no part."""
    model = build(name, similarity="l2", biases=False, heights=True)
    assert model.entities().shape == (7, DIM + 1)
    heads, relations = all_queries()
    queries = model.query(heads, relations)
    assert (queries[:, DIM] == 0).all()
    heights = model.entities().detach()[:, DIM].clone()
    scores = model.score_all(heads, relations)
    with torch.no_grad():
        model.entity.weight[:, DIM] = 0
    flat = model.score_all(heads, relations)
    torch.testing.assert_close(scores, flat - heights.square())
    assert torch.equal(model.query(heads, relations), queries)


@pytest.mark.parametrize(
    "name", [name for name, model in MODELS.items() if "l2" in model.similarities]
)
def test_a_penalty_leaves_heights_alone(name: str) -> None:
    model = build(name, similarity="l2", biases=False, heights=True)
    model.train(mode=issubclass(MODELS[name], Encoded))
    triples = torch.tensor([[0, 1, 2], [3, 0, 4]])
    before = model.penalty(triples, 3.0)
    gradient = torch.autograd.grad(before, model.entity.weight)[0].to_dense()
    assert gradient[[0, 2, 3, 4], :DIM].all()
    assert not gradient[:, DIM].any()
    assert model.places().shape == (7, DIM)


def test_heights_are_for_distances() -> None:
    with pytest.raises(SettingsError, match="heights: they go with l2, this compares by dot"):
        build("complex", similarity="dot", heights=True)


@pytest.mark.parametrize("name", MODELS)
def test_scale_is_positive_and_starts_at_one(name: str) -> None:
    model = make_model(name, SIZE, DIM)
    torch.testing.assert_close(model.scale(torch.arange(4)), torch.ones(4))
    with torch.no_grad():
        model.free_scale.weight.fill_(-20.0)
    assert (model.scale(torch.arange(4)) > 0).all()


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_but_the_scale_gets_a_gradient(name: str) -> None:
    model = build(name).train(mode=issubclass(MODELS[name], Encoded))  # encoded, or nothing is
    heads, relations = all_queries()
    model.score(heads, relations, heads.flip(0)).square().sum().backward()  # type: ignore[no-untyped-call]
    for key, parameter in model.named_parameters():
        if key == "free_scale.weight":
            assert parameter.grad is None, "ranking must not depend on the scale"
        else:
            assert parameter.grad is not None
            assert torch.isfinite(parameter.grad.to_dense()).all()
            assert parameter.grad.to_dense().abs().sum() > 0


@pytest.mark.parametrize(
    "name", ["rotate", "rote", "rotl", "refe", "atte", "roth", "complex", "rot2l"]
)
def test_rotations_need_an_even_dim(name: str) -> None:
    with pytest.raises(SettingsError, match="needs an even dim, got 33; try 32 or 34"):
        make_model(name, SIZE, 33)
    with pytest.raises(SettingsError, match="got 1; try 2"):
        make_model(name, SIZE, 1)


@pytest.mark.parametrize(
    "name", ["transe", "distmult", "mure", "murp", "rescal", "tucker", "affine", "transd"]
)
def test_others_take_any_dim(name: str) -> None:
    assert make_model(name, SIZE, 5).query(torch.tensor([0]), torch.tensor([0])).shape == (1, 5)


def test_rotation_keeps_lengths() -> None:
    model = build("rotate")
    heads, relations = all_queries()
    lengths = model.query(heads, relations).norm(dim=1)
    torch.testing.assert_close(lengths, model.entity(heads).norm(dim=1))


@pytest.mark.parametrize("name", ["distmult", "mure", "murp"])
def test_stretches_start_with_both_signs(name: str) -> None:
    torch.manual_seed(0)
    model = make_model(name, SIZE, 64, init_scale=0.01)
    stretch = model.stretch.weight
    torch.testing.assert_close(stretch.abs(), torch.ones_like(stretch), atol=0.1, rtol=0)
    half = len(stretch) // 2
    assert torch.equal(stretch[:half].sign(), stretch[half:].sign()), "reciprocals undo them"
    assert (stretch > 0).float().mean().item() == pytest.approx(0.5, abs=0.15)


WIDE = GraphSize(3, 400)


@pytest.mark.parametrize("name", ["distmult", "mure"])
def test_near_stretches_have_fewer_negative_factors(name: str) -> None:
    torch.manual_seed(0)
    stretch = make_model(name, WIDE, 16, near=0.6).stretch.weight
    assert (stretch < 0).double().mean().item() == pytest.approx(0.5 * 0.4, abs=0.02)
    assert torch.equal(stretch[:400] < 0, stretch[400:] < 0)
    assert (make_model(name, WIDE, 16, near=1.0).stretch.weight > 0).all()


@pytest.mark.parametrize("name", ["rotate", "rote", "rotl", "rot2l", "atte"])
def test_near_turns_go_beyond_a_quarter_less_often(name: str) -> None:
    torch.manual_seed(0)
    free = make_model(name, WIDE, 16).turn.weight
    torch.manual_seed(0)
    near = make_model(name, WIDE, 16, near=0.6).turn.weight
    torch.testing.assert_close(near.abs(), free.abs())
    assert torch.equal(near[:, 1::2], free[:, 1::2]), "to the same side as before"
    cosines = near[:, 0::2]
    assert (cosines[free[:, 0::2] > 0] > 0).all(), "what was near stays there"
    assert (cosines < 0).double().mean().item() == pytest.approx(0.5 * 0.4, abs=0.02)
    assert (make_model(name, WIDE, 16, near=1.0).turn.weight[:, 0::2] > 0).all()


def blocks_of(model: Model) -> Tensor:
    """The blocks of an AffinE: (2R, d / k, k, k)."""
    k = model.block_maps
    return model.map.weight.detach().view(len(model.map.weight), -1, k, k)


@pytest.mark.parametrize("near", [0.0, 0.5])
@pytest.mark.parametrize("k", [2, 4, 8])
def test_blocks_start_orthogonal(k: int, near: float) -> None:
    torch.manual_seed(0)
    blocks = blocks_of(AffinE(WIDE, 16, group_size=k, near=near))
    assert blocks.shape == (800, 16 // k, k, k)
    products = blocks @ blocks.transpose(-1, -2)
    torch.testing.assert_close(products, torch.eye(k).expand_as(products), atol=1e-5, rtol=0)
    flips = (torch.linalg.det(blocks) < 0).double().mean().item()
    assert flips == pytest.approx(0.5, abs=0.05) if near == 0 else flips < 0.4


def test_near_blocks_change_a_head_less() -> None:
    torch.manual_seed(0)
    traces = [
        blocks_of(AffinE(WIDE, 16, near=near)).diagonal(dim1=-2, dim2=-1).mean().item()
        for near in (0.0, 0.5, 1.0)
    ]
    assert traces[0] == pytest.approx(0.0, abs=0.02), "of all orthogonal maps the mean is zero"
    assert 0.3 < traces[1] < 0.95
    assert traces[2] == pytest.approx(1.0)


def test_blocks_of_two_that_turn_are_a_rotation() -> None:
    """(a, b) of a turn is the block [[a, -b], [b, a]]: RotE is a case of AffinE."""
    rote, affine = build("rote"), AffinE(SIZE, DIM, group_size=2).double()
    a, b = rote.turn.unit()[:, 0::2], rote.turn.unit()[:, 1::2]
    with torch.no_grad():
        blocks = torch.stack((torch.stack((a, -b), dim=-1), torch.stack((b, a), dim=-1)), dim=-2)
        affine.map.weight.copy_(blocks.flatten(1))
        affine.shift.weight.copy_(rote.shift.weight)
        affine.entity.weight.copy_(rote.entity.weight)
    queries = all_queries()
    torch.testing.assert_close(affine.query(*queries), rote.query(*queries))


def test_two_maps_depend_on_their_order() -> None:
    torch.manual_seed(0)
    (one, *_), (other, *_) = blocks_of(AffinE(SIZE, 4))[:2]
    assert (one @ other - other @ one).abs().max() > 0.1


def test_blocks_fill_the_dim() -> None:
    def sizes(most: int) -> dict[int, int | None]:
        return {dim: AffinE(SIZE, dim, group_size=most).block_maps for dim in (32, 6, 34, 35, 7)}

    assert sizes(4) == {32: 4, 6: 3, 34: 2, 35: 1, 7: 1}
    assert sizes(8) == {32: 8, 6: 6, 34: 2, 35: 7, 7: 7}


@pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS)
def test_models_say_whether_near_makes_a_difference(kind: type[Model]) -> None:
    made = []
    for near in (0.0, 0.5):
        torch.manual_seed(0)
        made.append(kind(WIDE, 16, near=near).state_dict())
    same = all(torch.equal(one, made[1][name]) for name, one in made[0].items())
    assert same != kind.takes_near


def test_unknown_model() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'rote'"):
        make_model("Rote", SIZE, 4)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_model_says_what_it_is(model: type[Model]) -> None:
    assert "et al. 20" in (model.__doc__ or ""), "cites whoever proposed it"
    assert model.formula.startswith("q = ")
    assert re.search(r"et al\., .* 20\d\d", model.source)
    assert "d" in model.cost


def test_a_similarity_that_a_model_does_not_have() -> None:
    with pytest.raises(SettingsError, match="roth compares by hyperbolic, not by l2"):
        make_model("roth", SIZE, DIM, similarity="l2")


@pytest.mark.parametrize("name", ["tucker", "conve", "convtranse"])
def test_a_batch_of_one_can_be_trained_on(name: str) -> None:
    model = make_model(name, SIZE, DIM).train()
    one = torch.tensor([1])
    model.score(one, one, one).sum().backward()
    assert torch.isfinite(model.entity.weight.grad.to_dense()).all()


@pytest.mark.parametrize("dim", [1, 2, 5, 7])
def test_conve_needs_an_image(dim: int) -> None:
    with pytest.raises(SettingsError, match="a dim that is an image"):
        make_model("conve", SIZE, dim)
    assert image_shape(32) == (4, 8)
    assert image_shape(256) == (16, 16)


def test_penalty_against_scalars() -> None:
    model = build("complex")
    triples = torch.tensor([[0, 1, 2], [3, 0, 2], [0, 1, 0]])

    def cubes(vector: list[float]) -> float:
        return sum(abs(complex(vector[i], vector[i + 1])) ** 3 for i in range(0, DIM, 2))

    wanted = 0.0
    for head, relation, tail in triples.tolist():
        vectors = (row(model.entity, head), row(model.factor, relation), row(model.entity, tail))
        wanted += sum(cubes(vector) for vector in vectors) / 3
    assert model.penalty(triples, 3.0).item() == pytest.approx(wanted)


def test_penalty_of_a_real_model_is_on_coordinates() -> None:
    model = build("distmult")
    triples = torch.tensor([[0, 1, 2], [3, 0, 2]])
    wanted = sum(
        sum(x * x for x in row(model.entity, h) + row(model.stretch, r) + row(model.entity, t)) / 2
        for h, r, t in triples.tolist()
    )
    assert model.penalty(triples, 2.0).item() == pytest.approx(wanted)


@pytest.mark.parametrize("name", MODELS)
def test_without_loops_an_entity_comes_last_at_its_own_query(name: str) -> None:
    """For the relations that may not loop, by score() and by score_all(); the rest is as before."""
    free, bound = build(name), build(name, loops=False)
    bound.load_state_dict(free.state_dict(), strict=False)
    assert bound.may_loop is not None
    bound.may_loop[:] = torch.tensor([[True], [False], [False], [True]])
    heads, relations = all_queries()
    before, scores = free.score_all(heads, relations), bound.score_all(heads, relations)
    itself = torch.arange(SIZE.num_entities) == heads[:, None]
    ruled_out = itself & ((relations == 1) | (relations == 2))[:, None]
    assert ruled_out.sum() == 2 * SIZE.num_entities
    assert (scores[ruled_out] < before.min() - 1e6).all()
    torch.testing.assert_close(scores[~ruled_out], before[~ruled_out])
    alone = bound.score(heads, relations, heads)
    torch.testing.assert_close(alone, scores[itself], rtol=1e-4, atol=1e-5)


def test_which_relations_loop_is_kept_with_the_weights() -> None:
    assert "may_loop" not in build("rotl").state_dict()
    assert build("rotl", loops=False).state_dict()["may_loop"].shape == (4, 1)


def test_dropout_acts_in_training_only() -> None:
    model = make_model("rote", SIZE, DIM, dropout=0.5)
    heads, relations = all_queries()
    assert (model.train().query(heads, relations) == 0).any()
    assert not (model.eval().query(heads, relations) == 0).any()


def test_with_rows_has_the_gradient_of_two_lookups() -> None:
    """Against the obvious way: the table used twice, once by rows and once whole."""
    torch.manual_seed(0)
    weights, ids = torch.randn(6, 3), torch.tensor([4, 0, 4, 2])
    by_rows, by_table = torch.randn(4, 3), torch.randn(6, 3)
    plain = weights.clone().requires_grad_()
    ((plain[ids] * by_rows).sum() + (plain * by_table).sum()).backward()
    table = weights.clone().requires_grad_()
    whole, rows = with_rows(table, ids)
    ((rows * by_rows).sum() + (whole * by_table).sum()).backward()
    assert plain.grad is not None
    torch.testing.assert_close(table.grad, plain.grad)


def test_conve_drops_out_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the image, the feature maps and the projection (Dettmers et al. 2018, section 5.2)."""
    model = make_model("conve", SIZE, 24, dropout=0.5, similarity="l2").train()
    entries = []
    model.dropout.register_forward_hook(lambda _, given, __: entries.append(given[0].dim()))
    maps = []
    real = torch.nn.functional.dropout2d

    def watch(features: Tensor, share: float, training: bool) -> Tensor:
        maps.append(share)
        return real(features, share, training)

    monkeypatch.setattr(torch.nn.functional, "dropout2d", watch)
    model.query(torch.tensor([0, 1]), torch.tensor([0, 1]))
    assert entries == [4, 2], "the image, then the projection; not the query once more"
    assert maps == [0.5]


def watched(model: Model, *names: str) -> dict[str, tuple[Tensor, Tensor]]:
    """What goes into some modules and what comes out, filled as the model runs."""
    seen: dict[str, tuple[Tensor, Tensor]] = {}
    for name in names:
        module = model.get_submodule(name)

        def keep(_: object, given: tuple[Tensor], made: Tensor, name: str = name) -> None:
            seen[name] = given[0].detach(), made.detach()

        module.register_forward_hook(keep)
    return seen


def share_lost(before: Tensor, after: Tensor, share: float) -> float:
    """The share of entries that dropout zeroed; the others must be stretched by 1 / (1 - share)."""
    lost = after == 0
    torch.testing.assert_close(after[~lost], before[~lost] / (1 - share), rtol=1e-4, atol=1e-6)
    return (lost & (before != 0)).sum().item() / (before != 0).sum().item()


def test_conve_drops_entries_of_its_image_whole_filters_and_entries_of_its_projection() -> None:
    torch.manual_seed(0)
    model = make_model("conve", SIZE, 24, dropout=0.25, similarity="l2").train()
    parts = ("image_norm", "filters", "filter_norm", "project", "after")
    seen = watched(model, *parts)
    heads, relations = all_queries()
    queries = model.query(heads, relations)
    assert share_lost(seen["image_norm"][1], seen["filters"][0], 0.25) == pytest.approx(
        0.25, abs=0.06
    )
    maps = torch.relu(seen["filter_norm"][1])  # (B, 32, height, width)
    given = seen["project"][0].view_as(maps)
    assert share_lost(maps, given, 0.25) == pytest.approx(0.25, abs=0.06)
    lost = (given == 0).flatten(2).all(2)
    kept = torch.isclose(given, maps / 0.75).flatten(2).all(2)
    assert (lost | kept).all(), "a filter is lost as a whole"
    hidden = share_lost(seen["project"][1], seen["after"][0], 0.25)
    assert hidden == pytest.approx(0.25, abs=0.06)
    assert torch.equal(seen["after"][1], queries.detach()), "three times, and no fourth"


def test_tucker_drops_entries_of_its_heads_matrices_and_queries() -> None:
    """With unit matrices an entry is stretched twice by 1 / (1 - 1/2), or lost by either."""
    torch.manual_seed(0)
    model = make_model("tucker", SIZE, DIM, dropout=0.5).train()
    with torch.no_grad():
        model.core.copy_(torch.eye(DIM).flatten().expand_as(model.core))
        model.relation.weight.zero_()[:, 0] = 1
    seen = watched(model, "before", "after")
    heads, relations = all_queries()
    queries = model.query(heads, relations)
    head, mixed = seen["before"][1], seen["after"][0]
    lost = mixed == 0
    torch.testing.assert_close(mixed[~lost], 4 * head[~lost])
    for relation in range(4):
        columns = lost[relations == relation].all(0)  # by the matrix, for all heads
        assert not columns.all()
        rest = lost[relations == relation][:, ~columns]
        assert rest.any(), "by the head, for one"
        assert not rest.all()
    assert share_lost(seen["after"][1], queries.detach(), 0.5) == pytest.approx(0.5, abs=0.2)

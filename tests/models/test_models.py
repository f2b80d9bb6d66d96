"""Every model against its formula in plain Python scalars."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from hale.errors import SettingsError, UnknownNameError
from hale.graph import GraphSize
from hale.models import MODELS, Model, make_model
from hale.models.tables import Table, with_rows

SIZE = GraphSize(num_entities=7, num_relations=2)
DIM = 4


def row(table: Table, index: int) -> list[float]:
    return [float(value) for value in table.weight.detach()[index]]


def rotated(turn: list[float], vector: list[float]) -> list[float]:
    """Each pair as a complex number times the unit number of the pair in ``turn``."""
    out: list[float] = []
    for i in range(0, len(vector), 2):
        unit = complex(turn[i], turn[i + 1]) / abs(complex(turn[i], turn[i + 1]))
        z = unit * complex(vector[i], vector[i + 1])
        out += [z.real, z.imag]
    return out


def transe(model: Model, head: list[float], relation: int) -> list[float]:
    return [h + r for h, r in zip(head, row(model.shift, relation), strict=True)]  # type: ignore[arg-type]


def distmult(model: Model, head: list[float], relation: int) -> list[float]:
    return [h * r for h, r in zip(head, row(model.stretch, relation), strict=True)]  # type: ignore[arg-type]


def rotate(model: Model, head: list[float], relation: int) -> list[float]:
    return rotated(row(model.turn, relation), head)  # type: ignore[arg-type]


def rote(model: Model, head: list[float], relation: int) -> list[float]:
    turned = rotated(row(model.turn, relation), head)  # type: ignore[arg-type]
    return [t + r for t, r in zip(turned, row(model.shift, relation), strict=True)]  # type: ignore[arg-type]


def rotl(model: Model, head: list[float], relation: int) -> list[float]:
    turned = rotated(row(model.turn, relation), head)  # type: ignore[arg-type]
    shift = row(model.shift, relation)  # type: ignore[arg-type]
    alpha = row(model.alpha, relation)[0]  # type: ignore[arg-type]
    inner = sum(t * r for t, r in zip(turned, shift, strict=True))
    return [alpha * (t + r) / (1 + inner) for t, r in zip(turned, shift, strict=True)]


FORMULAS: dict[str, Callable[[Model, list[float], int], list[float]]] = {
    "transe": transe,
    "distmult": distmult,
    "rotate": rotate,
    "rote": rote,
    "rotl": rotl,
}


def build(name: str) -> Model:
    torch.manual_seed(3)
    model = make_model(name, SIZE, DIM, init_scale=0.4).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
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
            distance = sum(
                (a - b) ** 2 for a, b in zip(query, row(model.entity, tail), strict=True)
            )
            assert scores[i, tail].item() == pytest.approx(-distance, abs=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_all_candidates_equal_one_by_one(name: str) -> None:
    model = build(name).float()
    heads, relations = all_queries()
    scores = model.score_all(heads, relations)
    for tail in range(7):
        one = model.score(heads, relations, torch.full_like(heads, tail))
        torch.testing.assert_close(scores[:, tail], one, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_scale_is_positive_and_starts_at_one(name: str) -> None:
    model = make_model(name, SIZE, DIM)
    torch.testing.assert_close(model.scale(torch.arange(4)), torch.ones(4))
    with torch.no_grad():
        model.free_scale.weight.fill_(-20.0)
    assert (model.scale(torch.arange(4)) > 0).all()


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_but_the_scale_gets_a_gradient(name: str) -> None:
    model = build(name)
    heads, relations = all_queries()
    model.score(heads, relations, heads.flip(0)).sum().backward()  # type: ignore[no-untyped-call]
    for key, parameter in model.named_parameters():
        if key == "free_scale.weight":
            assert parameter.grad is None, "ranking must not depend on the scale"
        else:
            assert parameter.grad is not None
            assert torch.isfinite(parameter.grad).all()
            assert parameter.grad.abs().sum() > 0


@pytest.mark.parametrize("name", ["rotate", "rote", "rotl"])
def test_rotations_need_an_even_dim(name: str) -> None:
    with pytest.raises(SettingsError, match="needs an even dim, got 33; try 32 or 34"):
        make_model(name, SIZE, 33)
    with pytest.raises(SettingsError, match="got 1; try 2"):
        make_model(name, SIZE, 1)


@pytest.mark.parametrize("name", ["transe", "distmult"])
def test_others_take_any_dim(name: str) -> None:
    assert make_model(name, SIZE, 5).query(torch.tensor([0]), torch.tensor([0])).shape == (1, 5)


def test_rotation_keeps_lengths() -> None:
    model = build("rotate")
    heads, relations = all_queries()
    lengths = model.query(heads, relations).norm(dim=1)
    torch.testing.assert_close(lengths, model.entity(heads).norm(dim=1))


def test_unknown_model() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'rote'"):
        make_model("Rote", SIZE, 4)


@pytest.mark.parametrize("name", MODELS)
def test_the_docstring_cites_the_paper(name: str) -> None:
    assert "section 3.3" in (MODELS[name].__doc__ or "")


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

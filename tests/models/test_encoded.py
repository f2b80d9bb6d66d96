"""Encoded models: when vectors are made anew, of which facts, and with which gradient."""

from __future__ import annotations

import pytest
import torch

from hale.data.graph import GraphSize
from hale.errors import InputError, SettingsError
from hale.models import MODELS, make_model
from hale.models.encoded import Encoded, with_encoder
from hale.models.encoders import encoder_class
from hale.models.model_options import Encoding

SIZE = GraphSize(num_entities=6, num_relations=2)
FACTS = torch.tensor([[0, 0, 1], [2, 0, 1], [0, 1, 3], [3, 1, 4], [4, 0, 5]])
ENCODED = [name for name, kind in MODELS.items() if issubclass(kind, Encoded)]
HEAD, RELATION, TAIL = torch.tensor([0, 3]), torch.tensor([1, 2]), torch.tensor([3, 4])


def build(name: str) -> Encoded:
    torch.manual_seed(2)
    model = make_model(name, SIZE, 8)
    assert isinstance(model, Encoded)
    model.see(FACTS)
    return model


def counted(model: Encoded) -> list[bool]:
    """How often the encoder runs, filled as it does: whether with a gradient."""
    runs: list[bool] = []
    model.encoder.register_forward_hook(lambda *_: runs.append(torch.is_grad_enabled()))
    return runs


@pytest.mark.parametrize("name", ENCODED)
def test_once_a_step(name: str) -> None:
    model, runs = build(name).train(), None
    runs = counted(model)
    rate = 0.1
    for step in range(1, 4):
        loss = -model.score_by_vectors(HEAD, RELATION, TAIL).mean()
        loss = loss + model.entity(HEAD).square().mean() + model.look_up(None, TAIL)[0].mean()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter -= rate * parameter.grad.to_dense()
                    parameter.grad = None
        assert runs == [True] * step
    held = model.eval().entities().clone()
    fresh = build(name)
    fresh.load_state_dict(model.state_dict())
    torch.testing.assert_close(held, fresh.eval().entities())


@pytest.mark.parametrize("name", ENCODED)
def test_twice_backward_without_a_step(name: str) -> None:
    """The second finds no freed graph, and the same gradient."""
    model = build(name).train()
    found = []
    for _ in range(2):
        model.zero_grad()
        (-model.score_by_vectors(HEAD, RELATION, TAIL).sum()).backward()
        assert model.entity.weight.grad is not None
        found.append(model.entity.weight.grad.clone())
    assert torch.equal(*found)
    assert found[0].any()


@pytest.mark.parametrize("name", ENCODED)
def test_once_for_an_evaluation_whatever_the_mode(name: str) -> None:
    model = build(name).eval()
    runs = counted(model)
    with torch.inference_mode():
        model.score_all(HEAD, RELATION)
    with torch.no_grad():
        model.entities()
    scores = model.score_all(HEAD, RELATION)
    assert runs == [False]
    model.train()
    model.score_all(HEAD, RELATION)
    assert runs == [False, True], "in training it is another"
    model.eval()
    assert not torch.equal(model.score_all(HEAD, RELATION), scores) or name == "rgcn"
    # a running figure that changes by hand is seen
    norms = [m for m in model.encoder.modules() if isinstance(m, torch.nn.BatchNorm1d)]
    before = model.entities().clone()
    for norm in norms:
        assert norm.running_mean is not None
        norm.running_mean.add_(1)
    assert torch.equal(model.entities(), before) == (not norms)


@pytest.mark.parametrize("name", ENCODED)
def test_a_weight_that_changes_in_place_is_seen(name: str) -> None:
    model = build(name).eval()
    before = model.entities().clone()
    with torch.no_grad():
        model.entity.weight[1] += 1
    assert not torch.equal(model.entities()[1], before[1])
    double = model.double().entities()
    assert double.dtype == torch.float64


@pytest.mark.parametrize("name", ENCODED)
def test_vectors_are_of_the_facts_seen(name: str) -> None:
    model = build(name).eval()
    before = model.entities().clone()
    model.see(FACTS[:-1])  # without the one that joins 4 and 5
    after = model.entities()
    assert not torch.allclose(after[5], before[5])
    if name != "sacn":  # two layers: 3 hears of 5 by 4
        torch.testing.assert_close(after[:3], before[:3])


def test_without_facts_there_are_no_vectors() -> None:
    model = make_model("sacn", SIZE, 8)
    with pytest.raises(InputError, match="computed from the training facts.*model.see"):
        model.entities()


def test_any_model_takes_an_encoder() -> None:
    torch.manual_seed(0)
    for encoder in ("rgcn", "wgcn"):
        for name, kind in MODELS.items():
            if kind.relation_vector is not None or name in ("rotl", "murp", "transd", "tucker"):
                model = with_encoder(kind, encoder_class(encoder))(SIZE, 8).eval()
                model.see(FACTS)
                scores = model.score_all(HEAD, RELATION)
                for tail in range(6):
                    one = model.score(HEAD, RELATION, torch.full_like(HEAD, tail))
                    torch.testing.assert_close(scores[:, tail], one, atol=1e-5, rtol=1e-4)
                assert type(model.encoder).name == encoder


def test_composition_encodes_the_relations_of_a_model_that_has_one_vector_each() -> None:
    kind = with_encoder(MODELS["transe"], encoder_class("compgcn"))
    model = kind(SIZE, 8, encoding=Encoding(composition="mult")).eval()
    model.see(FACTS)
    matrix = model.encoder.get_parameter("relation_matrices.0")
    torch.testing.assert_close(model.shift.rows(), model.shift.weight.detach() @ matrix)
    wanted = model.entities()[HEAD] + model.shift.rows()[RELATION]
    torch.testing.assert_close(model.query(HEAD, RELATION), wanted)
    with pytest.raises(SettingsError, match="compgcn makes a vector of d numbers.*rotl has no"):
        with_encoder(MODELS["rotl"], encoder_class("compgcn"))(SIZE, 8)

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from hale.engine.group import Group
from hale.errors import SettingsError
from hale.runs.systems import complete
from hale.training.extent import Ranked
from hale.training.pieces import TABLES
from hale.training.trainer import Trainer
from tests.conftest import ring
from tests.ranks import Ranks

SIZE = 200
BLOCK = {"epochs": 3, "dim": 8, "batch_size": 90, "block": 80}
HALE = {"queries": 20, **BLOCK}
ALL = {**BLOCK, "block": "all"}

SYSTEMS: dict[str, dict[str, Any]] = {
    "rotl": {"model": "rotl", **HALE},
    "all entities": {"model": "rotl", **HALE, "block": "all", "loops": False},
    "many settings": {
        "model": "rote",
        **HALE,
        "dropout": 0.1,
        "heights": True,
        "gamma_two_way": 3.0,
        "query_power": 0.5,
        "activation": "halin",
        "loops": False,
    },
    "maps, a free shape": {"model": "affine", **HALE, "activation": "sigmoid"},
    "adagrad": {"model": "rotate", **HALE, "optimizer": "adagrad"},
    "allneg": {"model": "rote", "strategy": "allneg", **BLOCK},
    "dot": {"model": "distmult", "strategy": "allneg", **BLOCK},
    "biases and curvature": {"model": "roth", "strategy": "allneg", **BLOCK},
    "penalty": {"model": "complex", "strategy": "allneg", **ALL, "penalty": 0.01},
    "batch normalisation": {"model": "tucker", "strategy": "allneg", **ALL},
    "float64": {"model": "rotl", **HALE, "precision": "float64"},
    "residual": {"model": "rotl", **HALE, "residual": 5, "dropout": 0.1},
}

Found = tuple[list[dict[str, float]], dict[str, Tensor]]


def steps(group: Group, values: dict[str, Any], threads: int = 1, count: int = 4) -> Found:
    """The losses of some steps, and the weights of this rank after them."""
    graph = ring(SIZE)
    before = torch.get_num_threads()
    trainer = Trainer(
        graph, complete(graph, **values, threads=threads), extent=Ranked(graph, group)
    )
    losses = []
    for _ in range(count):
        loss = trainer._step()
        losses.append({name: part.item() for name, part in loss.parts.items()})
    trainer.optimizer.settle()
    torch.set_num_threads(before)
    return losses, {name: value.clone() for name, value in trainer.model.state_dict().items()}


def joined(parts: list[Found]) -> dict[str, Tensor]:
    """The weights of all ranks; what all have must be the same."""
    first = parts[0][1]
    found = {}
    for name, value in first.items():
        if name.split(".")[0] in TABLES:
            found[name] = torch.cat([weights[name] for _, weights in parts])
        else:
            found[name] = value
            assert all(torch.equal(weights[name], value) for _, weights in parts)
    return found


@pytest.mark.filterwarnings("ignore:block")
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_same_bits_on_any_number_of_ranks_and_threads(ranks: Ranks, system: str) -> None:
    losses, alone = steps(Group(), SYSTEMS[system])
    assert all(math.isfinite(part) for loss in losses for part in loss.values())
    for size, threads in ((1, 2), (2, 1), (3, 2)):
        parts = ranks(size, steps, SYSTEMS[system], threads)
        assert all(told == losses for told, _ in parts)
        found = joined(parts)
        assert set(found) == set(alone)
        differing = [name for name in alone if not torch.equal(found[name], alone[name])]
        assert not differing, (size, threads)


# Of what does not depend on how a batch is cut: dropout and batch normalisation do.
@pytest.mark.filterwarnings("ignore:block")
@pytest.mark.parametrize(
    "system", ["rotl", "maps, a free shape", "all entities", "allneg", "dot", "penalty", "float64"]
)
def test_the_first_step_is_that_of_one_process(system: str) -> None:
    # Adam on rows and on a whole table part where gradients are as small as its epsilon
    values = {**SYSTEMS[system], "optimizer": "adagrad"}
    losses, found = steps(Group(), values, count=1)
    graph = ring(SIZE)
    trainer = Trainer(graph, complete(graph, **values))
    trainer.native_step = None
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    loss = trainer._step()
    for name, part in loss.parts.items():
        assert losses[0][name] == pytest.approx(part.item(), rel=1e-5)
    trainer.optimizer.settle()
    for name, value in trainer.model.state_dict().items():
        if not value.is_floating_point():
            continue
        moved, wanted = found[name] - before[name], value - before[name]
        # the first step is the rate whatever the gradient, so rounding shows where one is near zero
        near = (moved - wanted).abs() <= 1e-2 * wanted.abs().max()
        assert near.double().mean() > 0.99, name


def test_more_ranks_than_pieces_or_rows(ranks: Ranks) -> None:
    values = {"model": "rotl", "epochs": 3, "dim": 8, "batch_size": 2, "queries": 2, "block": "all"}
    _, alone = steps(Group(), values)
    found = joined(ranks(4, steps, values))
    assert all(torch.equal(found[name], alone[name]) for name in alone)


def bytes_sent(group: Group, entities: int) -> dict[str, int]:
    graph = ring(entities)
    values = {**HALE, "model": "rotl", "batch_size": 64}
    trainer = Trainer(graph, complete(graph, **values), extent=Ranked(graph, group))
    trainer._step()
    group.sent.clear()
    group.calls.clear()
    for _ in range(3):
        trainer._step()
    assert sum(group.calls.values()) == 3 * 5  # rounds
    return dict(group.sent)


@pytest.mark.filterwarnings("ignore:block")
def test_bytes_do_not_grow_with_entities(ranks: Ranks) -> None:
    few, many = ranks(2, bytes_sent, 400), ranks(2, bytes_sent, 4000)
    for one, other in zip(few, many, strict=True):
        assert one["all_reduce"] == other["all_reduce"]
    # By hand, of three steps of 64 positives of which 20 are drawn, d = 8, two ranks. Three digits
    # of sums of 20 queries, 3 + 8 columns, and their places in four runs; then of 4 tables of 4
    # relations, the value and alignment, places of six in eight bytes, and three numbers of the
    # clock. Of an all-reduce of two a rank sends its size.
    tables = 4 * (8 + 8 + 1 + 1)
    sums = 20 * (11 * 12 + 4)
    last = 12 * (tables + 2) + 8 + 3 * 8
    assert few[0]["all_reduce"] == 3 * (sums + last)
    # rows of heads and tails that others have, there and back: half of them or so
    there_and_back = 3 * 2 * 64 * 8 * 4
    total = sum(one["all_to_all"] for one in many)
    assert 0.7 * there_and_back < total < 1.3 * there_and_back


def test_strategies_without_sums_over_all_entities_are_refused() -> None:
    graph = ring(24)
    settings = complete(graph, model="transe", strategy="samneg", epochs=1)
    with pytest.raises(SettingsError, match="samneg does not train on ranks"):
        Trainer(graph, settings, extent=Ranked(graph, Group()))

"""Pieces by the kernel, beside those by autograd."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from hale.engine import library as kernel
from hale.engine.group import Group
from hale.runs.systems import complete
from hale.training.extent import Ranked
from hale.training.native_pieces import NativePieces
from hale.training.pieces import Gradients, Pieces
from hale.training.ranked_step import RankedStep
from hale.training.trainer import Trainer
from tests.conftest import ring

pytestmark = pytest.mark.skipif(not kernel.builds(), reason="the kernel was not built")

SIZES: dict[str, Any] = {"epochs": 3, "dim": 8, "batch_size": 90, "block": 80, "queries": 20}
SYSTEMS: dict[str, dict[str, Any]] = {
    "rotl": {"model": "rotl"},
    "shifts": {"model": "rote", "heights": True, "gamma_two_way": 3.0, "activation": "halin"},
    "turns alone": {"model": "rotate", "relation_scale": False, "square": False},
    "maps": {"model": "affine", "activation": "sigmoid"},
    "dropout": {"model": "rotl", "dropout": 0.3},
}


def gradients(values: dict[str, Any], *, plain: bool) -> tuple[dict[str, float], list[Tensor]]:
    """Of the second step: its loss, and gradients by heads, tails and what relations have."""
    graph = ring(200)
    settings = complete(graph, **SIZES, **values)
    trainer = Trainer(graph, settings, extent=Ranked(graph, Group()))
    step = trainer.native_step
    assert isinstance(step, RankedStep)
    assert type(step.pieces) is NativePieces
    if plain:
        step.pieces = Pieces(trainer.model, Group())
    found: list[Gradients] = []
    backward = step.pieces.backward

    def seen(places: Tensor, by_asked: Tensor) -> Gradients:
        found.append(backward(places, by_asked))
        return found[-1]

    step.pieces.backward = seen  # type: ignore[method-assign]
    loss = trainer._step()
    by_shared = [p.grad.clone() for p in step.pieces.shared.values() if p.grad is not None]
    assert len(by_shared) == len(step.pieces.shared)
    parts = {name: part.item() for name, part in loss.parts.items()}
    return parts, [found[0].heads, found[0].tails, *by_shared]


@pytest.mark.filterwarnings("ignore:block")
@pytest.mark.parametrize("system", SYSTEMS)
def test_gradients_are_those_of_autograd(system: str) -> None:
    losses, found = gradients(SYSTEMS[system], plain=False)
    wanted_losses, wanted = gradients(SYSTEMS[system], plain=True)
    assert losses == pytest.approx(wanted_losses, rel=1e-5)
    for one, other in zip(found, wanted, strict=True):
        scale = float(other.abs().max())
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5 * scale)

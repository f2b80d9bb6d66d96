"""The anchors' penalty against plain scalars."""

from __future__ import annotations

import pytest
import torch

from hale.data.graph import GraphSize, KnownAnswers
from hale.engine.blocks import Block
from hale.models import Model, make_model
from hale.objectives import Anchored, Loss


class Seven:
    """A loss of seven, whatever comes, and of eight at the end."""

    def __init__(self, value: float = 7.0) -> None:
        self.value = value

    def at(self, progress: float) -> Seven:
        return Seven(7.0 + progress)

    def __call__(
        self,
        model: Model,
        triples: torch.Tensor,
        generator: torch.Generator,
        known: KnownAnswers | None = None,
        block: Block | None = None,
        weights: torch.Tensor | None = None,
    ) -> Loss:
        value = torch.tensor(self.value)
        return Loss(value, {"seven": value})


def anchored(free: list[int] | None = None) -> tuple[Loss, Model]:
    model = make_model("transe", GraphSize(4, 1), 2)
    model.entity.weight.data = torch.tensor([[1.0, 0.0], [0.0, 3.0], [5.0, 5.0], [9.0, 9.0]])
    anchors = torch.tensor([[0.0, 0.0], [0.0, 1.0], [5.0, 4.0]])  # entity 3 is new
    triples = torch.tensor([[0, 0, 1], [1, 0, 3]])
    objective = Anchored(
        Seven(), anchors, weight=0.5, free=None if free is None else torch.tensor(free)
    )
    return objective(model, triples, torch.Generator()), model


def test_the_penalty_is_the_mean_over_the_ends_of_the_batch() -> None:
    """Ends 0, 1, 1, 3: moved by 1, 2, 2, and 3 is new; entity 2 moved but is not in the batch."""
    loss, model = anchored()
    assert loss.parts["anchor"].item() == pytest.approx((1 + 4 + 4) / 4)
    assert loss.total.item() == pytest.approx(7 + 0.5 * 9 / 4)
    assert loss.parts["seven"].item() == 7
    loss.total.backward()
    assert model.entity.weight.grad.to_dense().tolist() == [
        [pytest.approx(0.5 * 2 * 1 / 4), 0.0],
        [0.0, pytest.approx(0.5 * 2 * (2 + 2) / 4)],
        [0.0, 0.0],
        [0.0, 0.0],
    ]


def test_free_entities_cost_nothing() -> None:
    loss, _ = anchored(free=[1])
    assert loss.parts["anchor"].item() == pytest.approx(1 / 4)


def test_the_strategy_moves_with_the_run() -> None:
    model = make_model("transe", GraphSize(1, 1), 2)
    objective = Anchored(Seven(), model.entities().detach().clone(), weight=1.0)
    triples = torch.tensor([[0, 0, 0]])
    assert objective.at(1.0)(model, triples, torch.Generator()).total.item() == 8
    assert objective(model, triples, torch.Generator()).total.item() == 7


def test_the_strategy_is_told_what_is_known() -> None:
    told = []

    class Asks(Seven):
        def __call__(self, model: Model, *given: object) -> Loss:
            told.append(given)
            return super().__call__(model, *given)

    model = make_model("transe", GraphSize(1, 1), 2)
    triples, draws = torch.tensor([[0, 0, 0]]), torch.Generator()
    known = KnownAnswers(triples.numpy(), 1)
    block = Block(torch.tensor([0]), 1)
    given = (triples, draws, known, block, torch.ones(1))
    Anchored(Asks(), model.entities().detach().clone(), weight=1.0)(model, *given)
    assert len(told) == 1
    assert all(one is other for one, other in zip(told[0], given, strict=True))

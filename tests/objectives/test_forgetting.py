"""The push on removed facts against plain scalars."""

from __future__ import annotations

import pytest
import torch

from hale.data.graph import GraphSize
from hale.models import Model, make_model
from hale.objectives.forgetting import Forgetting, usual_scores
from tests.objectives.test_anchored import Seven


def line() -> Model:
    """Entities 0, 1, 2, 3 on a line; relation 0 goes one on, its reciprocal one back."""
    model = make_model("transe", GraphSize(4, 1), 1)
    model.entity.weight.data = torch.arange(4.0)[:, None]
    model.shift.weight.data = torch.tensor([[1.0], [-1.0]])
    return model


def test_only_what_scores_above_the_usual_costs() -> None:
    """(0, r, 1) is met exactly: 0 against -0.5. (0, r, 3) is 2 away: -4, below it."""
    removed = torch.tensor([[0, 0, 1], [0, 0, 3]])
    usual = torch.tensor([-0.5, -9.0])
    objective = Forgetting(Seven(), removed, usual)
    triples, draws = torch.tensor([[0, 0, 1]]), torch.Generator()
    loss = objective(line(), triples, draws)
    assert loss.total.item() == pytest.approx(7 + 10 * 0.25)
    assert loss.parts["forget"].item() == pytest.approx(0.25)
    assert objective.at(0.5)(line(), triples, draws).total.item() == pytest.approx(7.5 + 2.5)


def test_usual_scores_are_means_by_relation() -> None:
    """-0 and -4 of relation 0; its reciprocal has none, so the mean of all."""
    held_out = torch.tensor([[0, 0, 1], [0, 0, 3]])
    assert usual_scores(line(), held_out).tolist() == [-2.0, -2.0]
    more = torch.cat((held_out, torch.tensor([[3, 1, 1]])))  # 2 against 1
    assert usual_scores(line(), more).tolist() == [-2.0, -1.0]

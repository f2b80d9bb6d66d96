"""Products that do not depend on how their table is cut."""

from __future__ import annotations

import pytest
import torch

from hale.data.graph import GraphSize
from hale.engine.steady import steady
from hale.models.roth import RotH
from hale.models.transe import TransE


@pytest.mark.parametrize("d", [1, 7, 32, 33, 64, 200])
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 16, 40])
@pytest.mark.parametrize("kind", [TransE, RotH])
def test_a_cut_changes_no_bit(d: int, rows: int, kind: type[TransE] | type[RotH]) -> None:
    model = kind(GraphSize(4, 2), 2 * d)
    draws = torch.Generator().manual_seed(d + rows)
    queries = torch.randn(rows, 2 * d, generator=draws)
    entities = torch.randn(1500, 2 * d, generator=draws)
    with torch.no_grad():
        beside = model.comparing(torch.zeros(rows, dtype=torch.long))
        whole = steady(model.compare_all, queries, entities, beside)
        for first, last in ((0, 1), (3, 9), (1, 500), (499, 1500), (700, 717)):
            part = steady(model.compare_all, queries, entities[first:last], beside)
            assert torch.equal(part, whole[:, first:last]), (first, last)


def test_what_is_filled_up_does_not_count() -> None:
    """By hand: -|q - e|^2 of one query and two entities."""
    model = TransE(GraphSize(4, 1), 2)
    entities = torch.tensor([[1.0, 2.0], [4.0, 6.0]])
    found = steady(model.compare_all, torch.tensor([[1.0, 2.0]]), entities, None)
    assert found.tolist() == [[0.0, -25.0]]
    assert steady(model.compare_all, torch.ones(3, 2), entities[:0], None).shape == (3, 0)

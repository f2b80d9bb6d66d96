"""A table that ranks of a group share."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from hale.data.graph import GraphSize
from hale.engine.group import Group
from hale.engine.shards import Shards
from hale.models.held import share
from hale.models.transe import TransE
from tests.ranks import Ranks


def looked_up(group: Group, rows: torch.Tensor, ids: torch.Tensor) -> dict[str, Any]:
    shards = Shards(len(rows), group.size)
    span = shards.span(group.rank)
    model = TransE(GraphSize(len(span), 1), rows.shape[1])
    with torch.no_grad():
        model.entity.weight.copy_(rows[span.first : span.last])
    share(model, group, len(rows))
    found = model.entity(ids).detach()
    before = dict(group.sent)
    model.entity(ids.clone())
    held = model.entity.held(slice(span.first + 1, span.last))
    some = model.entity.held(torch.arange(span.first, span.last)[-2:])
    return {
        "found": found,
        "again": dict(group.sent) == before,
        "held": torch.equal(held, rows[span.first + 1 : span.last]),
        "some": torch.equal(some, rows[span.first : span.last][-2:]),
        "size": model.size.num_entities,
    }


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_rows_come_from_those_who_hold_them(ranks: Ranks, size: int) -> None:
    rows = torch.arange(140.0).view(70, 2)
    ids = torch.tensor([69, 0, 3, 3, 50, 17, 0, 33])
    for one in ranks(size, looked_up, rows, ids):
        assert torch.equal(one["found"], rows[ids])
        assert one["held"]
        assert one["some"]
        assert one["again"], "what was looked up last does not travel again"
        assert one["size"] == 70


def test_alone_a_model_stays_as_it_is() -> None:
    model = TransE(GraphSize(5, 1), 2)
    table = model.entity
    assert share(model, Group(), 5).entity is table
    assert table.span == (0, 5)
    assert table.group.size == 1

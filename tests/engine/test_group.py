from __future__ import annotations

import time

import pytest
import torch
from torch import Tensor

from hale.engine.group import Group
from hale.errors import GroupError
from tests.ranks import Ranks


def test_alone_nothing_travels() -> None:
    alone, rows = Group(), torch.arange(6).view(3, 2)
    assert (alone.rank, alone.size, alone.leads) == (0, 1, True)
    assert alone.all_to_all(rows, [3], [3])() is rows
    assert alone.all_gather(rows, [3]) is rows
    assert alone.all_reduce(rows) is rows
    assert alone.broadcast("said") == "said"
    alone.barrier()
    alone.leave()
    assert not alone.sent


def test_sums_of_numbers_with_a_point_are_refused() -> None:
    with pytest.raises(TypeError, match=r"engine\.exact"):
        Group().all_reduce(torch.ones(2))


def travels(group: Group) -> dict[str, object]:
    """Rank p sends p + 1 rows to each rank q, which say p and q."""
    sent = torch.tensor([[group.rank, q] for q in range(group.size) for _ in range(group.rank + 1)])
    wanted = [p + 1 for p in range(group.size)]
    counts = [group.rank + 1] * group.size
    mine = torch.full((group.rank + 1, 2), float(group.rank))
    return {
        "rank": group.rank,
        "to": group.all_to_all(sent, counts, wanted)().tolist(),
        "gathered": group.all_gather(mine, wanted)[:, 0].tolist(),
        "sum": group.all_reduce(torch.tensor([group.rank, 10])).tolist(),
        "most": group.all_reduce(torch.tensor([float(group.rank)]), "max").item(),
        "least": group.all_reduce(torch.tensor([float(group.rank)]), "min").item(),
        "said": group.broadcast("grüße" if group.leads else "nothing"),
        "sent": dict(group.sent),
    }


def test_what_three_ranks_tell_each_other(ranks: Ranks) -> None:
    found = ranks(3, travels)
    assert [one["rank"] for one in found] == [0, 1, 2]
    for rank, one in enumerate(found):
        assert one["to"] == [[0, rank], [1, rank], [1, rank], *[[2, rank]] * 3]
        assert one["gathered"] == [0.0, 1.0, 1.0, 2.0, 2.0, 2.0]
        assert one["sum"] == [3, 30]
        assert (one["most"], one["least"]) == (2.0, 0.0)
        assert one["said"] == "grüße"
    # By hand: two int64 a row to two others, two rows of two floats to two others, and all to two
    # others of all-reduces of two int64, twice a float, a length and seven bytes.
    assert found[1]["sent"] == {
        "all_to_all": 64,
        "all_gather": 32,
        "all_reduce": 32 + 8 + 8 + 16 + 14,
    }


def reduced(group: Group, op: str) -> Tensor:
    values = (torch.arange(20_000) * (7 + group.rank)) % 1009
    group.sent.clear()
    found = group.all_reduce(values, op)
    # 20,000 int64: a third to each of two others, and what became of one to both
    assert group.sent == {"all_reduce": 4 * 6667 * 8}
    return found


@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_a_large_all_reduce_goes_in_parts(ranks: Ranks, op: str) -> None:
    all_values = torch.stack([(torch.arange(20_000) * (7 + rank)) % 1009 for rank in range(3)])
    by = {
        "sum": all_values.sum(dim=0),
        "max": all_values.amax(dim=0),
        "min": all_values.amin(dim=0),
    }
    assert all(torch.equal(found, by[op]) for found in ranks(3, reduced, op))


def one_dies(group: Group, hangs: bool) -> str | None:
    if group.rank == 1:
        if hangs:
            time.sleep(8)
        return None
    try:
        group.all_reduce(torch.ones(4, dtype=torch.int64))
    except GroupError as error:
        return str(error)
    return None


@pytest.mark.parametrize("hangs", [False, True])
def test_a_rank_that_does_not_answer_is_named(ranks: Ranks, hangs: bool) -> None:
    began = time.monotonic()
    found = ranks(3, one_dies, hangs, timeout=2.0)
    assert time.monotonic() - began < 20
    for error in (found[0], found[2]):
        assert error is not None
        assert "missing: rank 1." in error
        assert "--timeout" in error


def together(group: Group, rows: Tensor) -> int:
    return int(group.all_reduce(rows.sum()))


def test_a_group_can_be_joined_again(ranks: Ranks) -> None:
    assert ranks(2, together, torch.arange(3)) == [6, 6]
    assert ranks(4, together, torch.arange(3)) == [12] * 4

"""Tables of more than 2^31 numbers: places are counted in 64 bits.

Their pages are never touched but for a few rows, so they cost no memory.
"""

from __future__ import annotations

import ctypes
import mmap
import sys

import numpy as np
import pytest
import torch
from torch import Tensor

from hale.engine import library as kernel
from hale.engine import native, rows
from hale.engine.activations import Hanon
from hale.engine.counting import Comparison, count_above, score_pairs
from hale.engine.structures import AdamRows, Parameter, Step

DIM = 64
COUNT = 2**31 // DIM + 10
NORESERVE = 0x4000  # Linux's MAP_NORESERVE, which the module lacks before Python 3.13
LAST = torch.tensor([COUNT - 1, 3, COUNT - 2])

pytestmark = [
    pytest.mark.skipif(not kernel.builds(), reason="no kernel was built here"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="maps untouched pages"),
]


def table() -> Tensor:
    """Zeros (COUNT, DIM) of which nothing is in memory."""
    assert COUNT * DIM > 2**31
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
    try:
        pages = mmap.mmap(-1, 4 * COUNT * DIM, flags=flags)
    except OSError:
        pytest.skip("the system does not map so much")
    return torch.from_numpy(np.frombuffer(pages, dtype=np.float32)).view(COUNT, DIM)


def test_rows_beyond_2_31_are_looked_up_and_added_to() -> None:
    large, given = table(), torch.arange(3.0 * DIM).view(3, DIM)
    rows.add_rows(large, LAST, given)
    assert torch.equal(large[COUNT - 1], given[0])
    assert torch.equal(rows.gathered(large, LAST), given)
    assert not large[COUNT - 3].any()


def test_scores_beyond_2_31() -> None:
    """All entities are at 0 but the last, which is where the query is."""
    large, query = table(), torch.full((1, DIM), 0.5)
    large[COUNT - 1] = query[0]
    compared = Comparison(query, large, by_distance=True)
    found = score_pairs(compared, torch.tensor([0, 0]), torch.tensor([COUNT - 1, COUNT - 2]))
    assert found.tolist() == [0.0, -DIM / 4]
    higher, no_lower, finite = count_above(compared, torch.tensor([-1.0]))
    assert (higher.tolist(), no_lower.tolist(), finite.tolist()) == ([1], [1], [True])
    _, no_lower, _ = count_above(compared, torch.tensor([-DIM / 4.0]))
    assert no_lower.tolist() == [COUNT]


def test_adam_moves_rows_beyond_2_31() -> None:
    """The first step of Adam is the learning rate, against the gradient."""
    large, means, squares = table(), table(), table()
    last = torch.zeros(COUNT, dtype=torch.int32)
    gradients, due = torch.full((3, DIM), 2.0), torch.zeros(1)
    problem = AdamRows(
        b=3,
        d=DIM,
        ids=LAST.data_ptr(),
        gradients=gradients.data_ptr(),
        table=large.data_ptr(),
        means=means.data_ptr(),
        squares=squares.data_ptr(),
        last=last.data_ptr(),
        due=due.data_ptr(),
        step=0,
        first=0.1,
        second=0.001,
        rate=0.5 * 0.001**0.5 / 0.1,  # both corrections, for a learning rate of 0.5
        eps=0.0,
        threads=2,
    )
    kernel.call("hale_adam_rows", problem)
    torch.testing.assert_close(large[LAST], torch.full((3, DIM), -0.5))
    assert last[LAST].tolist() == [1, 1, 1]
    assert last.sum() == 3


def stepped(tables: tuple[Tensor, Tensor, Tensor], count: int) -> tuple[np.ndarray, Tensor]:
    """A whole step of RotatE among entities that begin at the fifth from the end of tables.

    -> alignment, uniformity and whether it moved, and the five rows after it.
    """
    begin = count - 5
    draws = torch.Generator().manual_seed(0)
    large, means, squares = tables
    large[begin:] = torch.randn(5, DIM, generator=draws) / 10
    triples = torch.tensor([[0, 0, 4], [3, 1, 1], [2, 1, 0]]) + torch.tensor([begin, 0, begin])
    drawn, block = torch.tensor([0, 2]), torch.tensor([0, 1, 3, 4]) + begin
    none, begins = np.zeros(1, dtype=np.int64), np.zeros(3, dtype=np.int64)
    turns = torch.randn(2, DIM, generator=draws)
    kept = [torch.zeros(2, DIM) for _ in range(2)]
    scales = torch.full((2, 1), 0.5)
    kept_scales = [torch.zeros(2, 1) for _ in range(2)]
    asked = (Parameter * 5)()  # turns, shifts, alphas, scales, maps: of which it has two
    for place, value, (mean, square) in ((0, turns, kept), (3, scales, kept_scales)):
        pointers = value.data_ptr(), mean.data_ptr(), square.data_ptr()
        asked[place] = Parameter(*pointers, rate=0.1, root=0.03)
    last = torch.zeros(count, dtype=torch.int32)
    gammas, due, values = torch.full((2,), 6.0), torch.zeros(1), np.zeros(3)
    problem = Step(
        b=3,
        m=2,
        s=4,
        d=DIM,
        dim=DIM,
        k=0,
        relations=2,
        triples=triples.data_ptr(),
        drawn=drawn.data_ptr(),
        block=block.data_ptr(),
        left_out=none.ctypes.data,
        left_from=begins.ctypes.data,
        table=large.data_ptr(),
        means=means.data_ptr(),
        squares=squares.data_ptr(),
        last=last.data_ptr(),
        due=due.data_ptr(),
        parameters=ctypes.addressof(asked),
        gammas=gammas.data_ptr(),
        activation=native.KINDS.index(Hanon),
        beta=3.0,
        weight=1.0,
        square=True,
        ratio=1.0,
        step=0,
        first=0.1,
        second=0.001,
        rate=0.01,
        eps=1e-8,
        threads=2,
        values=values.ctypes.data,
    )
    kernel.call("hale_step", problem)
    assert (last[begin:] > 0).tolist() == [True] * 5, "each is a head, a tail or in the block"
    return values, large[begin:].clone()


def test_a_whole_step_beyond_2_31() -> None:
    """The same bits as among ten entities: only where the rows stand is another."""
    large = stepped((table(), table(), table()), COUNT)
    small = stepped(tuple(torch.zeros(10, DIM) for _ in range(3)), 10)  # type: ignore[arg-type]
    assert large[0].tolist() == small[0].tolist()
    assert large[0][2] == 1, "it moved"
    assert torch.equal(large[1], small[1])

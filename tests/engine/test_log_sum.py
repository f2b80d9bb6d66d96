"""Log-sums in chunks against plain autograd over all scores at once."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hale.engine import log_sum, mean_log_sum


def inputs() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    shapes = ((11, 4), (11, 1), (30, 4), (30, 1))
    rows, temper, table, bias = (torch.randn(s, dtype=torch.float64) for s in shapes)
    return rows, temper.exp(), table, bias


def score(rows: Tensor, temper: Tensor | None, table: Tensor, bias: Tensor | None) -> Tensor:
    scores = rows @ table.T
    scores = scores if temper is None else temper * scores
    return scores if bias is None else scores + bias.T


@pytest.mark.parametrize("chunk", [30, 90, 1 << 20], ids=["one row", "three rows", "all"])
@pytest.mark.parametrize("left_out", [False, True])
def test_value_and_gradients(chunk: int, left_out: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_sum, "CHUNK_ELEMENTS", chunk)
    pairs = (torch.tensor([0, 4, 4, 10]), torch.tensor([3, 0, 29, 7])) if left_out else None
    leaves = [x.requires_grad_() for x in inputs()]
    found = 3 * mean_log_sum(score, leaves[:2], leaves[2:], without=pairs)
    gradients = torch.autograd.grad(found, leaves)

    plain = score(*leaves)
    if pairs is not None:
        mask = torch.zeros(11, 30, dtype=torch.bool)
        mask[pairs] = True
        plain = plain.masked_fill(mask, -torch.inf)
    wanted = 3 * plain.logsumexp(1).mean()
    torch.testing.assert_close(found, wanted)
    for mine, other in zip(gradients, torch.autograd.grad(wanted, leaves), strict=True):
        torch.testing.assert_close(mine, other)


def test_what_is_absent_or_needs_no_gradient() -> None:
    rows, _, table, _ = inputs()
    table.requires_grad_()
    value = mean_log_sum(score, (rows, None), (table, None))
    value.backward()
    wanted = torch.autograd.grad(score(rows, None, table, None).logsumexp(1).mean(), table)[0]
    torch.testing.assert_close(table.grad, wanted)
    assert rows.grad is None


def test_nothing_of_all_pairs_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_sum, "CHUNK_ELEMENTS", 30)
    kept: list[int] = []

    def note(x: Tensor) -> Tensor:
        kept.append(x.numel())
        return x

    leaves = [x.requires_grad_() for x in inputs()]
    with torch.autograd.graph.saved_tensors_hooks(note, lambda x: x):
        value = mean_log_sum(score, leaves[:2], leaves[2:])
    during = list(kept)
    assert during, "the scores of a chunk are saved while its gradient is taken"
    assert max(during) <= 120, "never those of all chunks"
    value.backward()
    assert leaves[0].grad is not None

"""What another run takes over of a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hale.runs.file_names import CHECKPOINT
from hale.runs.folder import RunFolder
from hale.training.checkpoint import moments


def test_moments_of_rows_that_are_behind_have_faded(tmp_path: Path) -> None:
    """Three steps were made; the first row was touched by none of them, the second by the last."""
    state = {
        "model/entity.weight": torch.zeros(2, 1),
        "optimizer/entity.weight/exp_avg": torch.tensor([[2.0], [4.0]]),
        "optimizer/entity.weight/exp_avg_sq": torch.tensor([[8.0], [16.0]]),
        "optimizer/entity.weight/step": torch.tensor(3.0),
        "optimizer/entity.weight/last": torch.tensor([0, 3], dtype=torch.int32),
        "optimizer/entity.weight/due": torch.zeros(4),
        "optimizer/turn.weight/exp_avg": torch.tensor([[5.0]]),
    }
    folder = RunFolder(tmp_path)
    folder.write_tensors(CHECKPOINT, state, {})
    found = moments(folder)
    assert set(found) == {
        *(f"entity.weight/{name}" for name in ("exp_avg", "exp_avg_sq", "step")),
        "turn.weight/exp_avg",
    }
    means, squares = found["entity.weight/exp_avg"], found["entity.weight/exp_avg_sq"]
    assert means.flatten().tolist() == pytest.approx([2 * 0.9**3, 4])
    assert squares.flatten().tolist() == pytest.approx([8 * 0.999**3, 16])
    assert found["turn.weight/exp_avg"].item() == 5

"""Divergence: what to say when a loss or a score is not finite."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import nn

from hale.errors import TrainingError
from hale.objectives import Loss
from hale.training.checkpoint import State


def faulty(loss: Loss) -> str:
    """Which parts of a loss are not finite, in words."""
    parts = [name for name, part in loss.parts.items() if not torch.isfinite(part)]
    return f"loss ({' and '.join(parts) or 'total'})"


def not_finite(
    model: nn.Module, what: str, state: State, *, kept_in: Path | None, rate: float
) -> TrainingError:
    """The error of a run that ended in NaN: where, the largest parameter, and what to try."""
    sizes = {
        name: parameter.detach().abs().max().item()  # NaN if any entry is
        for name, parameter in model.named_parameters()
    }
    largest = max(sizes, key=lambda name: math.inf if math.isnan(sizes[name]) else sizes[name])
    kept = ""
    if kept_in is not None and state.kept_step:
        kept = f"The last good state, of step {state.kept_step}, is kept in {kept_in}. "
    return TrainingError(
        f"Not finite at step {state.clock.step}: the {what}; the largest parameter is "
        f"{largest} ({sizes[largest]:.3g}). {kept}"
        f"Try a learning rate below {rate:g}."
    )

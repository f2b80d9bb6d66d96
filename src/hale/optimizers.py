"""The optimisers of a run, and their state as named tensors."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn


def make_optimizer(name: str, model: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
    """PyTorch's Adam or Adagrad over all parameters of the model."""
    parameters = list(model.parameters())
    if name == "adam":
        return torch.optim.Adam(parameters, lr=learning_rate, fused=True)
    # PyTorch has a fused Adagrad for the CPU only.
    fused = all(parameter.device.type == "cpu" for parameter in parameters)
    return torch.optim.Adagrad(parameters, lr=learning_rate, fused=fused or None)


def optimizer_state(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The state as tensors named 'parameter/field', for a safetensors file."""
    return {
        f"{name}/{field}": value
        for name, parameter in model.named_parameters()
        for field, value in optimizer.state.get(parameter, {}).items()
    }


def restore_optimizer(
    optimizer: torch.optim.Optimizer, model: nn.Module, state: Mapping[str, Tensor]
) -> None:
    """Put a state from ``optimizer_state`` back."""
    for name, parameter in model.named_parameters():
        fields = {
            key.removeprefix(f"{name}/"): value
            for key, value in state.items()
            if key.startswith(f"{name}/")
        }
        if fields:
            optimizer.state[parameter] = {
                # The step counter stays where the optimiser keeps it: a CPU scalar, unless fused.
                field: value.to(parameter.device)
                if value.dim() or optimizer.defaults["fused"]
                else value
                for field, value in fields.items()
            }

"""The optimisers of a run: PyTorch's algorithms over named parameters, their state as tensors.

They are called as functions, not as `torch.optim.Optimizer` objects: the first such object of a
process brings PyTorch's compiler with it, about a second, and its step does half a
millisecond of bookkeeping that a few dense tables do not need.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.optim.adagrad import adagrad
from torch.optim.adam import adam

from hale.engine import library as kernel
from hale.engine.device import on_large_pages
from hale.engine.rows import touched
from hale.engine.structures import AdamRows
from hale.errors import UnknownNameError

STEP = "step"  # how many steps a parameter has seen
# Of Adam: how much of the means is kept, and what keeps a step from dividing by zero.
BETAS, EPS = (0.9, 0.999), 1e-8


class Optimizer(ABC):
    """Moves the parameters of a model along their gradients, in place.

    Beside each parameter it keeps the ``fields``, tensors of the same shape that start at zero,
    and the number of its steps. A parameter without a gradient stays as it is, and so does a row
    that a sparse gradient does not have.
    """

    fields: ClassVar[tuple[str, ...]]
    counts_beside: ClassVar[bool]  # whether the count lies on the parameter's device, or the CPU

    def __init__(self, model: nn.Module) -> None:
        self.parameters = dict(model.named_parameters())
        self.kept: dict[str, dict[str, Tensor]] = {}  # by parameter and field

    @abstractmethod
    def move(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        kept: list[dict[str, Tensor]],
        rate: float,
    ) -> None:
        """One step of the algorithm for parameters that have gradients."""

    @abstractmethod
    def move_rows(
        self, table: Tensor, ids: Tensor, rows: Tensor, kept: dict[str, Tensor], rate: float
    ) -> None:
        """One step for the rows ``ids`` (U,) of a table (N, d), along gradients (U, d)."""

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One step at a learning rate."""
        parameters, gradients, kept = [], [], []
        for name, parameter in self.parameters.items():
            gradient = parameter.grad
            if gradient is None:
                continue
            mine = self.beside(name)
            if gradient.is_sparse:
                self.move_rows(parameter.detach(), *touched(gradient), mine, rate)
                continue
            parameters.append(parameter.detach())
            gradients.append(gradient)
            kept.append(mine)
        if parameters:
            self.move(parameters, gradients, kept, rate)

    def clear(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters.values():
            parameter.grad = None

    def state(self) -> dict[str, Tensor]:
        """What is kept, as tensors named 'parameter/field'."""
        return {
            f"{name}/{field}": value
            for name, fields in self.kept.items()
            for field, value in fields.items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a ``state``; parameters that it does not name begin anew."""
        self.kept = {}
        for name, parameter in self.parameters.items():
            if f"{name}/{STEP}" in state:
                self.kept[name] = {
                    STEP: state[f"{name}/{STEP}"].to(self._place(parameter), copy=True),
                    **{
                        # a copy: what comes from a file is not to be written to
                        field: state[f"{name}/{field}"].to(parameter.device, copy=True)
                        for field in self.fields
                    },
                }

    def beside(self, name: str) -> dict[str, Tensor]:
        """What is kept beside a parameter."""
        if name in self.kept:
            return self.kept[name]
        parameter = self.parameters[name]
        zeros = {field: on_large_pages(torch.zeros_like(parameter)) for field in self.fields}
        self.kept[name] = {STEP: torch.zeros((), device=self._place(parameter)), **zeros}
        return self.kept[name]

    def _place(self, parameter: Tensor) -> torch.device:
        return parameter.device if self.counts_beside else torch.device("cpu")


class Adam(Optimizer):
    """Adam (Kingma & Ba, 2015) with its usual constants; one fused pass over each table.

    m <- 0.9 m + 0.1 g
    v <- 0.999 v + 0.001 g^2
    p <- p - rate (m / (1 - 0.9^t)) / (sqrt(v / (1 - 0.999^t)) + 1e-8)

    Of a table whose gradient is sparse only the rows move that it has, and their m and v; t counts
    the steps of the table. That is torch.optim.SparseAdam, which adds 1e-8 to sqrt(v) itself.
    """

    fields = ("exp_avg", "exp_avg_sq")
    counts_beside = True  # the fused pass reads it there

    def move(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        kept: list[dict[str, Tensor]],
        rate: float,
    ) -> None:
        """By PyTorch's function."""
        adam(
            parameters,
            gradients,
            [fields["exp_avg"] for fields in kept],
            [fields["exp_avg_sq"] for fields in kept],
            [],
            [fields[STEP] for fields in kept],
            fused=True,
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=rate,
            weight_decay=0.0,
            eps=EPS,
            maximize=False,
        )

    def corrected(self, rate: float, kept: dict[str, Tensor]) -> float:
        """The rate of one more step for rows of a table, with both corrections of their bias."""
        kept[STEP] += 1
        count = kept[STEP].item()
        return float(rate * math.sqrt(1 - BETAS[1] ** count) / (1 - BETAS[0] ** count))

    def move_rows(
        self, table: Tensor, ids: Tensor, rows: Tensor, kept: dict[str, Tensor], rate: float
    ) -> None:
        """By the kernel where it runs; else by torch calls, the reference."""
        rate = self.corrected(rate, kept)
        means, squares = kept["exp_avg"], kept["exp_avg_sq"]
        tables = (table, means, squares)
        if kernel.takes(*tables, rows) and all(x.is_contiguous() for x in tables):
            problem = AdamRows(
                b=len(ids),
                d=table.shape[1],
                ids=ids.data_ptr(),
                gradients=rows.data_ptr(),
                table=table.data_ptr(),
                means=means.data_ptr(),
                squares=squares.data_ptr(),
                first=1 - BETAS[0],
                second=1 - BETAS[1],
                rate=rate,
                eps=EPS,
                threads=torch.get_num_threads(),
            )
            kernel.call("hale_adam_rows", problem)
            return
        mean = torch.lerp(means.index_select(0, ids), rows, 1 - BETAS[0])
        square = torch.lerp(squares.index_select(0, ids), rows.square(), 1 - BETAS[1])
        means.index_copy_(0, ids, mean)
        squares.index_copy_(0, ids, square)
        table.index_add_(0, ids, mean / (square.sqrt() + EPS), alpha=-rate)


class Adagrad(Optimizer):
    """Adagrad (Duchi et al., 2011).

    s <- s + g^2
    p <- p - rate g / (sqrt(s) + 1e-10)
    """

    fields = ("sum",)
    counts_beside = False  # read as a number at every step

    def move(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        kept: list[dict[str, Tensor]],
        rate: float,
    ) -> None:
        """By PyTorch's function, which is fused on the CPU only."""
        fused = all(parameter.is_cpu for parameter in parameters)
        adagrad(
            parameters,
            gradients,
            [fields["sum"] for fields in kept],
            [fields[STEP] for fields in kept],
            fused=fused,
            foreach=not fused,
            lr=rate,
            weight_decay=0.0,
            lr_decay=0.0,
            eps=1e-10,
            maximize=False,
        )

    def move_rows(
        self, table: Tensor, ids: Tensor, rows: Tensor, kept: dict[str, Tensor], rate: float
    ) -> None:
        """The rows that have no gradient would stay as they are anyway."""
        kept[STEP] += 1
        summed = kept["sum"].index_select(0, ids) + rows.square()
        kept["sum"].index_copy_(0, ids, summed)
        table.index_add_(0, ids, rows / (summed.sqrt() + 1e-10), alpha=-rate)


OPTIMIZERS: dict[str, type[Optimizer]] = {"adam": Adam, "adagrad": Adagrad}


def make_optimizer(name: str, model: nn.Module) -> Optimizer:
    """An optimiser over all parameters of a model, by its name."""
    if name not in OPTIMIZERS:
        raise UnknownNameError("optimizer", name, OPTIMIZERS)
    return OPTIMIZERS[name](model)

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
from hale.engine.lag import BETAS, EPS, Lag
from hale.engine.rows import touched
from hale.errors import UnknownNameError
from hale.models.tables import Table

STEP = "step"  # how many steps a parameter has seen
LAST, DUE = "last", "due"  # of a table with rows that are behind


class Optimizer(ABC):
    """Moves the parameters of a model along their gradients, in place.

    Beside each parameter it keeps the ``fields``, tensors of the same shape that start at zero,
    and the number of its steps. A parameter without a gradient stays as it is. A row that a sparse
    gradient does not have may be behind, until it is looked up or ``settle`` brings all up to date.
    """

    fields: ClassVar[tuple[str, ...]]
    counts_beside: ClassVar[bool]  # whether the count lies on the parameter's device, or the CPU

    def __init__(self, model: nn.Module) -> None:
        self.parameters = dict(model.named_parameters())
        self.tables = {
            f"{name}.weight": table
            for name, table in model.named_modules()
            if isinstance(table, Table)
        }
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
    def move_rows(self, name: str, ids: Tensor, rows: Tensor, rate: float) -> None:
        """One step for the rows ``ids`` (U,) of a parameter (N, d), along gradients (U, d)."""

    @abstractmethod
    def settle(self) -> None:
        """Bring all rows up to date, for whoever reads the tables as they lie."""

    def settled(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """A model's weights as they are with all rows up to date; nothing is moved."""
        return weights

    def release(self) -> None:
        """Let the tables be: what is looked up from now on is not moved."""
        for table in self.tables.values():
            table.rest()

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One step at a learning rate."""
        parameters, gradients, kept = [], [], []
        for name, parameter in self.parameters.items():
            gradient = parameter.grad
            if gradient is None:
                continue
            if gradient.is_sparse:
                self.move_rows(name, *touched(gradient), rate)
                continue
            parameters.append(parameter.detach())
            gradients.append(gradient)
            kept.append(self.beside(name))
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

    Of a table whose gradient is sparse only the rows move that it has. The others stay behind, by
    what their momentum would have moved them, until they are read (engine.lag): so it is the same
    Adam at the cost of the rows that are touched. torch.optim.SparseAdam leaves that movement out.
    """

    fields = ("exp_avg", "exp_avg_sq")
    counts_beside = True  # the fused pass reads it there

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.lags: dict[str, Lag] = {}  # of the tables with sparse gradients

    def lag(self, name: str) -> Lag:
        """How far the rows of a parameter are behind; its table brings those up that are read."""
        if name not in self.lags:
            kept = self.beside(name)
            table = self.parameters[name].detach()
            self.lags[name] = Lag(table, kept["exp_avg"], kept["exp_avg_sq"])
            if name in self.tables:
                self.tables[name].follow(self.lags[name].settle)
        return self.lags[name]

    @torch.no_grad()
    def settle(self) -> None:
        """Bring all rows up to date."""
        for lag in self.lags.values():
            lag.settle_all()

    @torch.no_grad()
    def settled(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Those of tables with rows that are behind are copies."""
        behind = {name: lag.settled() for name, lag in self.lags.items() if lag.step}
        return weights | behind

    def state(self) -> dict[str, Tensor]:
        """What is kept; of a table with rows that are behind, how far they are, too."""
        behind = {name: lag for name, lag in self.lags.items() if lag.step}
        return (
            super().state()
            | {f"{name}/{LAST}": lag.last for name, lag in behind.items()}
            | {f"{name}/{DUE}": lag.due for name, lag in behind.items()}
        )

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a ``state``."""
        super().restore(state)
        self.lags = {}
        for name in self.kept:
            if f"{name}/{DUE}" in state:
                self.lag(name).put(state[f"{name}/{LAST}"], state[f"{name}/{DUE}"])

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

    def corrections(self, kept: dict[str, Tensor]) -> tuple[float, float]:
        """Both corrections of the bias, 1 - beta^t, at one more step of a parameter."""
        kept[STEP] += 1
        count = kept[STEP].item()
        return 1 - BETAS[0] ** count, 1 - BETAS[1] ** count

    def corrected(self, rate: float, kept: dict[str, Tensor]) -> float:
        """The rate of one more step for rows of a table, with both corrections of their bias."""
        first, second = self.corrections(kept)
        return rate * math.sqrt(second) / first

    def move_rows(self, name: str, ids: Tensor, rows: Tensor, rate: float) -> None:
        """By the kernel where it runs; else by torch calls, the reference."""
        lag = self.lag(name)
        rate = self.corrected(rate, self.beside(name))
        if lag.native and kernel.takes(rows):
            problem = lag.problem(ids, len(ids))
            problem.gradients, problem.rate = rows.data_ptr(), rate
            kernel.call("hale_adam_rows", problem)
        else:
            lag.settle(ids)
            mean = torch.lerp(lag.means.index_select(0, ids), rows, 1 - BETAS[0])
            square = torch.lerp(lag.squares.index_select(0, ids), rows.square(), 1 - BETAS[1])
            lag.means.index_copy_(0, ids, mean)
            lag.squares.index_copy_(0, ids, square)
            lag.table.index_add_(0, ids, mean / (square.sqrt() + EPS), alpha=-rate)
            lag.last.index_fill_(0, ids, lag.step + 1)
        lag.stepped(rate)


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

    def move_rows(self, name: str, ids: Tensor, rows: Tensor, rate: float) -> None:
        """The rows that have no gradient would stay as they are anyway."""
        table, kept = self.parameters[name].detach(), self.beside(name)
        kept[STEP] += 1
        summed = kept["sum"].index_select(0, ids) + rows.square()
        kept["sum"].index_copy_(0, ids, summed)
        table.index_add_(0, ids, rows / (summed.sqrt() + 1e-10), alpha=-rate)

    def settle(self) -> None:
        """No row is ever behind."""


OPTIMIZERS: dict[str, type[Optimizer]] = {"adam": Adam, "adagrad": Adagrad}


def make_optimizer(name: str, model: nn.Module) -> Optimizer:
    """An optimiser over all parameters of a model, by its name."""
    if name not in OPTIMIZERS:
        raise UnknownNameError("optimizer", name, OPTIMIZERS)
    return OPTIMIZERS[name](model)

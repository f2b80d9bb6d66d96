"""Hardness-aware activations h: the value and the slope, for distances x >= 0.

The paper's score of a triple is f = -h(c_r ||q - e||^2) (section 3.2). Within
one query every h is monotone, so it shapes training and leaves ranking alone.
All of them are finite, with finite slopes, in float32 up to x = 1e20.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from hale.errors import InputError, UnknownNameError


@dataclass(frozen=True)
class Activation(ABC):
    """A monotone function of a scaled squared distance."""

    name: ClassVar[str]

    @property
    def bound(self) -> float:
        """Upper bound of the value; infinite where there is none."""
        return math.inf

    @abstractmethod
    def value_and_slope(self, x: Tensor, gamma: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """h(x) and h'(x), elementwise, as new tensors.

        ``gamma``, of x's shape or one that spreads over it, takes the place of the bound where
        there is one.
        """

    def __call__(self, x: Tensor, gamma: Tensor | None = None) -> Tensor:
        """h(x), differentiable once through the slope written here."""
        value: Tensor = _Activate.apply(x, self, gamma)  # type: ignore[no-untyped-call]
        return value


class _Activate(torch.autograd.Function):
    """Keeps the slope for the backward pass, so value and gradient cannot disagree."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx, x: Tensor, h: Activation, gamma: Tensor | None
    ) -> Tensor:
        value, slope = h.value_and_slope(x, gamma)
        ctx.save_for_backward(slope)
        return value

    @staticmethod
    def backward(
        ctx: torch.autograd.function.FunctionCtx, grad: Tensor
    ) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return grad * slope, None, None


@dataclass(frozen=True)
class Hanon(Activation):
    """The paper's nonlinear activation, a shifted sigmoid bounded by gamma.

        h(x) = 1 / (1/gamma + exp(-beta (x - 1/2)))
             = gamma sigmoid(beta (x - 1/2) - ln gamma)       (section 3.2)

    The second form neither overflows nor gives NaN gradients.
    """

    beta: float = 3.0
    gamma: float = 6.0
    name: ClassVar[str] = "hanon"

    def __post_init__(self) -> None:
        positive(self.name, beta=self.beta, gamma=self.gamma)

    @property
    def bound(self) -> float:
        """Gamma."""
        return self.gamma

    def value_and_slope(self, x: Tensor, gamma: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """h, and h' = beta h (1 - h / gamma).

        The last factor is the sigmoid on the other side: at saturation the difference would
        have no digits left.
        """
        bound = self.gamma if gamma is None else gamma
        log = math.log(self.gamma) if gamma is None else gamma.log()
        place = (self.beta * x).sub_(self.beta / 2 + log)
        value = torch.sigmoid(place).mul_(bound)
        return value, place.neg_().sigmoid_().mul_(value).mul_(self.beta)


@dataclass(frozen=True)
class Halin(Activation):
    """The paper's piecewise linear activation, cut at gamma.

        h(x) = 2x                            for x < 1
             = min(beta (x - 1) + 2, gamma)  for x >= 1       (section 3.2)

    The slope is 2, then beta, then 0 from the cut on. A gamma below 2 cuts the
    first piece already.
    """

    beta: float = 10.0
    gamma: float = 10.0
    name: ClassVar[str] = "halin"

    def __post_init__(self) -> None:
        positive(self.name, beta=self.beta, gamma=self.gamma)

    @property
    def bound(self) -> float:
        """Gamma."""
        return self.gamma

    def value_and_slope(self, x: Tensor, gamma: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The three pieces."""
        near = x < 1
        free = torch.where(near, 2 * x, self.beta * (x - 1) + 2)
        slope = torch.where(near, 2.0, self.beta).to(x.dtype)
        cut = free >= (self.gamma if gamma is None else gamma)
        value = free.clamp_max(self.gamma) if gamma is None else torch.minimum(free, gamma)
        return value, slope.masked_fill(cut, 0.0)


@dataclass(frozen=True)
class XExp(Activation):
    """RotL's own nonlinearity, h(x) = x exp(x) (appendix A.2).

    Linear beyond x = 40, where the square of the value nears float32's limit.
    """

    name: ClassVar[str] = "xexp"
    limit: ClassVar[float] = 40.0

    def value_and_slope(
        self,
        x: Tensor,
        gamma: Tensor | None = None,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """h, and h' = (1 + x) exp(x) below the limit."""
        grown = x.clamp_max(self.limit).exp()
        return x * grown, torch.where(x < self.limit, grown * (1 + x), grown)


@dataclass(frozen=True)
class Double(Activation):
    """h(x) = 2x: a temperature of one half, as in contrastive learning."""

    name: ClassVar[str] = "double"

    def value_and_slope(
        self,
        x: Tensor,
        gamma: Tensor | None = None,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """2x and 2."""
        return 2 * x, torch.full_like(x, 2.0)


@dataclass(frozen=True)
class Arctanh(Activation):
    """The hyperbolic distance's nonlinearity, h(x) = 2 arctanh(x) = ln((1 + x) / (1 - x)).

    It is defined on [0, 1) only; a squared distance leaves that domain easily,
    so from x = 0.999 on the value stays at 2 arctanh(0.999) = 7.6 with slope 0.
    The paper finds it the weakest for the same reason (section 4.2).
    """

    name: ClassVar[str] = "arctanh"
    limit: ClassVar[float] = 0.999

    @property
    def bound(self) -> float:
        """The value at the limit."""
        return 2 * math.atanh(self.limit)

    def value_and_slope(
        self,
        x: Tensor,
        gamma: Tensor | None = None,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """h, and h' = 2 / (1 - x^2) inside the domain."""
        inside = x.clamp_max(self.limit)
        slope = 2 / (1 - inside.square())
        return 2 * torch.atanh(inside), slope.masked_fill(x >= self.limit, 0.0)


@dataclass(frozen=True)
class Identity(Activation):
    """h(x) = x: no activation (the ablation 'w/o Activation')."""

    name: ClassVar[str] = "identity"

    def value_and_slope(
        self,
        x: Tensor,
        gamma: Tensor | None = None,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """X and 1."""
        return x.clone(), torch.ones_like(x)


def positive(name: str, **values: float) -> None:
    """Refuse what is not positive and finite."""
    for symbol, value in values.items():
        if not 0 < value < math.inf:
            raise InputError(f"{name} needs {symbol} > 0, got {value}.")


# Built from (beta, gamma); those without parameters ignore them.
ACTIVATIONS: dict[str, Callable[[float, float], Activation]] = {
    "hanon": Hanon,
    "halin": Halin,
    "xexp": lambda _beta, _gamma: XExp(),
    "double": lambda _beta, _gamma: Double(),
    "arctanh": lambda _beta, _gamma: Arctanh(),
    "identity": lambda _beta, _gamma: Identity(),
}

# Built from (gamma, shape): hale.engine.shapes fills it in.
SHAPED: dict[str, Callable[[float, Sequence[float]], Activation]] = {}


def make_activation(
    name: str, *, beta: float, gamma: float, shape: Sequence[float] = ()
) -> Activation:
    """An activation by its name; ``shape`` is for those that have a free one."""
    if name in SHAPED:
        return SHAPED[name](gamma, shape)
    if name not in ACTIVATIONS:
        raise UnknownNameError("activation", name, [*ACTIVATIONS, *SHAPED])
    if shape:
        raise InputError(f"{name} has no free shape; {' and '.join(SHAPED)} have.")
    return ACTIVATIONS[name](beta, gamma)

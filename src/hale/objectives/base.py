"""Objective: what training minimises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import torch
from torch import Tensor

from hale.data.graph import KnownAnswers
from hale.engine.blocks import Block
from hale.models import Model, Similarity
from hale.settings import Settings
from hale.settings.space import Space


@dataclass(frozen=True)
class Loss:
    """A scalar to minimise and the named parts that it is made of."""

    total: Tensor
    parts: Mapping[str, Tensor]


class Criterion(Protocol):
    """What a trainer minimises: a strategy, or one with something added to its loss."""

    def at(self, progress: float, /) -> Criterion:
        """What is minimised at a share of the run (0 to 1)."""

    def __call__(
        self,
        model: Model,
        triples: Tensor,
        generator: torch.Generator,
        known: KnownAnswers | None = None,
        block: Block | None = None,
        weights: Tensor | None = None,
        /,
    ) -> Loss:
        """The loss of positive triples (B, 3), which weigh (B,) in it, or all alike."""


class Objective(ABC):
    """A training strategy, built from scalars. It never changes what it is handed.

    ``similarities`` are those it works with, ``models`` the only models, each with its
    similarity, if there are such, and ``because`` says why not the others. ``defaults``
    are settings that suit it better than the general ones, ``by_dot`` those that replace them where
    a model compares by inner product; what a user gives goes before both. ``space`` is what a
    search moves, what matters most first; ``published`` is what the code of the authors trains
    with, where it is to be had: a search tries that too, as far as the space reaches.
    """

    name: ClassVar[str]
    uses: ClassVar[frozenset[str]]  # the settings that mean something to it, not to all
    formula: ClassVar[str]
    source: ClassVar[str]
    similarities: ClassVar[tuple[Similarity, ...]]
    models: ClassVar[Mapping[str, Similarity] | None] = None
    takes_biases: ClassVar[bool] = True
    takes_activation: ClassVar[bool] = True
    takes_dropout: ClassVar[bool] = True
    takes_heights: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    in_nats: ClassVar[bool] = True  # whether trained scores are log odds, up to a constant
    because: ClassVar[str] = ""
    defaults: ClassVar[Mapping[str, object]] = {}
    by_dot: ClassVar[Mapping[str, object]] = {}
    activated: ClassVar[Mapping[str, object]] = {}  # in place of those where h is asked for
    space: ClassVar[Space] = ()  # empty where there is no search
    published: ClassVar[tuple[Mapping[str, object], ...]] = ()
    paper_space: ClassVar[Space] = ()  # the grid that the paper searched
    revision: ClassVar[int] = 1  # of the loss: figures of an earlier one are of another strategy

    @classmethod
    @abstractmethod
    def of(cls, settings: Settings) -> Self:
        """The objective that the settings describe."""

    def at(self, progress: float) -> Self:  # noqa: ARG002
        """The objective at a share of the run (0 to 1); most are the same throughout."""
        return self

    @abstractmethod
    def __call__(
        self,
        model: Model,
        triples: Tensor,
        generator: torch.Generator,
        known: KnownAnswers | None = None,
        block: Block | None = None,
        weights: Tensor | None = None,
    ) -> Loss:
        """The loss of a batch of positive triples (B, 3), both directions mixed.

        ``generator`` (on the CPU) draws whatever is sampled; ``known`` holds the
        answers in train, for strategies that use them; ``block`` the entities that sums over all
        of them are estimated by, for strategies that have such sums. ``weights`` (B,) turn the
        mean over positives into a weighted one, where the strategy takes them.
        """

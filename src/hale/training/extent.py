"""Extent: how much of a run this process has, all of it or the share of a rank.

The trainer is the same for both. What differs is which entities the model has rows of, who ranks
and saves them, and how a step is made.
"""

from __future__ import annotations

from typing import Protocol

from hale.data.graph import Graph, GraphSize, SpanSize
from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers
from hale.engine.group import Group
from hale.engine.shards import Shards
from hale.errors import SettingsError
from hale.evaluation.sharded_ranks import ShardedRanks
from hale.evaluation.validation import Ranker
from hale.models import Model
from hale.objectives import Criterion
from hale.objectives.shardwise import shardwise
from hale.training import checkpoint
from hale.training.keeping import Store
from hale.training.native_pieces import pieces_for
from hale.training.native_step import step_for
from hale.training.optimizers import Optimizer
from hale.training.pace import Pace
from hale.training.ranked_step import RankedStep
from hale.training.sharded_answers import ShardedAnswers
from hale.training.sharded_checkpoint import ShardedStore
from hale.training.steps import Step

DIVIDED = ("l2", "dot", "hyperbolic")  # comparisons whose gradients ranks add up


def check_divided(model: Model) -> None:
    """Refuse a model that ranks cannot train together, with the reason."""
    if model.entity.computed:
        raise SettingsError(
            [
                f"encoder: the vectors of {model.name} are computed from those of their "
                "neighbours, which ranks do not share; train in one process, without --ranks"
            ]
        )
    if model.similarity not in DIVIDED:
        raise SettingsError(
            [
                f"similarity: {model.name} compares by {model.similarity}, which ranks cannot "
                f"divide among them; take a model that compares by {', '.join(DIVIDED)}, or "
                "train in one process, without --ranks"
            ]
        )


class Extent(Protocol):
    """What a trainer needs to know of where it works."""

    group: Group
    size: GraphSize  # of the entities that the model has here
    rank: Ranker | None  # who ranks triples, if not as one process does
    store: Store

    def known_train(self) -> KnownAnswers:
        """The answers in train."""

    def known_all(self) -> KnownAnswers:
        """Those in all splits."""

    def step(
        self,
        model: Model,
        objective: Criterion,
        optimizer: Optimizer,
        known: KnownAnswers,
        pace: Pace,
        *,
        blocks: object | None,
    ) -> Step | None:
        """A step that is not by autograd, where there is one."""


class Whole:
    """All of a run."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.group = Group()
        self.size = graph.size
        self.rank: Ranker | None = None
        self.store: Store = checkpoint

    def known_train(self) -> KnownAnswers:
        """The answers in train."""
        return self.graph.known("train")

    def known_all(self) -> KnownAnswers:
        """Those in all splits."""
        return self.graph.known_answers

    def step(
        self,
        model: Model,
        objective: Criterion,
        optimizer: Optimizer,
        known: KnownAnswers,
        pace: Pace,  # noqa: ARG002
        *,
        blocks: object | None,
    ) -> Step | None:
        """The native one, where the kernel has all of it."""
        weighted = self.graph.weights is not None
        return step_for(model, objective, optimizer, known, blocks, weighted=weighted)


class Ranked:
    """The share of one rank."""

    def __init__(self, graph: Graph, group: Group) -> None:
        self.graph = graph
        self.group = group
        self.shards = Shards(len(graph.entities), group.size)
        self.span = self.shards.span(group.rank)
        self.size: GraphSize = SpanSize(len(self.span), len(graph.relations), self.span.first)
        self.rank: Ranker | None = ShardedRanks(group, self.shards)
        self.store: Store = ShardedStore(group, self.shards)

    def known_train(self) -> KnownAnswers:
        """Those of the span in train."""
        return self._known(self.graph.train)

    def known_all(self) -> KnownAnswers:
        """Those of the span in all splits."""
        return self._known(self.graph.train, self.graph.valid, self.graph.test)

    def _known(self, *splits: Ids) -> KnownAnswers:
        return ShardedAnswers(splits, len(self.graph.relations), self.group, self.span)

    def step(
        self,
        model: Model,
        objective: Criterion,
        optimizer: Optimizer,
        known: KnownAnswers,
        pace: Pace,
        *,
        blocks: object | None,  # noqa: ARG002
    ) -> Step | None:
        """The one that ranks make together; strategies and models that have none are refused."""
        check_divided(model)
        shardwise(objective, known)
        weighted = self.graph.weights is not None
        pieces = pieces_for(model, objective, self.group, weighted=weighted)
        return RankedStep(self.group, self.shards, model, optimizer, known, pace, pieces)

"""Strategies over entities that are spread over ranks: what a piece of the batch and a sum need.

A rank has some pieces of the batch, with the rows of their heads and tails, and some shards of the
entities. What a strategy says of positives alone is a sum over pieces; what it says of all entities
is a log-sum over shards (engine.shard_sums), of queries that come from all pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers
from hale.engine import geometry
from hale.engine.estimate import has_floor
from hale.engine.l2_sweep import Queries, l2_sweep
from hale.engine.plain_sweep import PlainSweep
from hale.engine.shard_sums import Sweep
from hale.engine.tiles import Pairs
from hale.errors import SettingsError
from hale.models import Model
from hale.objectives.allneg import AllNeg
from hale.objectives.base import Criterion
from hale.objectives.hale import HaLE
from hale.objectives.left_out import Keep
from hale.objectives.penalized import Penalized


class Asked(NamedTuple):
    """Of queries for their sums: vectors (m, d), scales, what is compared beside, biases (m, 1)."""

    vectors: Tensor
    scale: Tensor | None = None
    beside: Tensor | None = None
    head_bias: Tensor | None = None


class Ends(NamedTuple):
    """Rows of entities that were looked up: vectors (b, d), and biases (b, 1) where there are."""

    vectors: Tensor
    head_bias: Tensor | None = None
    tail_bias: Tensor | None = None


class Positives(NamedTuple):
    """Of a piece of the batch: what its queries have (b, ...), and what it adds to the loss.

    ``others`` (b, 1) is a term of their sums beside the entities. ``parts`` have names.
    """

    asked: Asked
    value: Tensor
    parts: Mapping[str, Tensor]
    others: Tensor | None = None


class LeavingOut(NamedTuple):
    """What the sums of sampled triples leave out (see left_out)."""

    known: bool
    ruled_out: Tensor | None
    tails: bool | None
    keep: Keep


class Shardwise(Protocol):
    """A strategy piece by piece and shard by shard."""

    whole: str  # what the log-sum is called among the parts of the loss

    def drawn(
        self, batch: Tensor, draws: torch.Generator, known: KnownAnswers, weights: Tensor | None
    ) -> Ids:
        """The places in the batch (B, 3) whose queries are summed, ascending: (m,)."""

    def positives(
        self, model: Model, triples: Tensor, heads: Ends, tails: Ends, shares: Tensor, count: int
    ) -> Positives:
        """A piece (b, 3) of a batch of ``count``; ``shares`` (b,) of its positives in the mean."""

    def sum_shares(self, shares: Tensor) -> Tensor:
        """The shares (m,) of the log-sums in their mean, from those of the positives drawn."""

    def leaving_out(self, model: Model, sampled: Tensor, *, block: bool) -> LeavingOut:
        """What the sums of sampled triples (m, 3) leave out, over a block or all entities."""

    def bounds(self, model: Model, relation: Tensor) -> Tensor | None:
        """The bounds of the activation of queries (m,), where weights have a floor by them."""

    def sweep(
        self, model: Model, relation: Tensor, asked: Asked, ends: Ends, begins: Ids, without: Pairs
    ) -> Sweep:
        """The entities of a rank as the queries (m,) see them."""


class HaLEShardwise:
    """Alignment piece by piece, uniformity shard by shard."""

    whole = "uniformity"

    def __init__(self, objective: HaLE, known: KnownAnswers) -> None:
        self.objective = objective
        self.known = known

    def drawn(
        self, batch: Tensor, draws: torch.Generator, known: KnownAnswers, weights: Tensor | None
    ) -> Ids:
        """Those that the objective draws."""
        return np.sort(self.objective.draw(batch, draws, known, weights).numpy())

    def gammas(self, model: Model, relation: Tensor) -> Tensor | None:
        """The bounds of the relations of queries (m,), where they have their own."""
        bounds = self.objective.bounds(self.known, model.entities())
        return None if bounds is None else bounds.index_select(0, relation)

    def positives(
        self,
        model: Model,
        triples: Tensor,
        heads: Ends,
        tails: Ends,
        shares: Tensor,
        count: int,  # noqa: ARG002
    ) -> Positives:
        """The sum of share_p h(c ||q - t||^2)^2, times lambda."""
        relation = triples[:, 1]
        queries = model.query_of(heads.vectors, relation)
        scale = model.scale(relation) if self.objective.relation_scale else None
        distances = geometry.squared_distance(queries, tails.vectors)
        scaled = distances if scale is None else scale * distances
        activated = self.objective.activation(scaled, self.gammas(model, relation))
        pulled = activated.square() if self.objective.square else activated
        alignment = (shares.to(pulled.dtype) * pulled).sum()
        value = self.objective.weight * alignment
        asked = Asked(queries, None if scale is None else scale[:, None])
        return Positives(asked, value, {"alignment": alignment})

    def sum_shares(self, shares: Tensor) -> Tensor:
        """All alike: weights were heeded when they were drawn."""
        return torch.full_like(shares, 1 / len(shares))

    def leaving_out(self, model: Model, sampled: Tensor, *, block: bool) -> LeavingOut:  # noqa: ARG002
        """As over all entities."""
        keep: Keep = "entity" if self.objective.bounded else "column"
        ruled_out = model.ruled_out(sampled[:, 1])
        return LeavingOut(self.objective.leave_out_known, ruled_out, None, keep)

    def bounds(self, model: Model, relation: Tensor) -> Tensor | None:
        """The bound of the activation, or each relation's own."""
        if not self.objective.bounded:
            return None
        gammas = self.gammas(model, relation)
        if gammas is None:
            gammas = torch.full((len(relation),), self.objective.activation.bound)
        return gammas

    def sweep(
        self, model: Model, relation: Tensor, asked: Asked, ends: Ends, begins: Ids, without: Pairs
    ) -> Sweep:
        """By squared L2 distance."""
        queries = Queries(asked.vectors, asked.scale, self.gammas(model, relation))
        return l2_sweep(self.objective.activation, queries, ends.vectors, begins, without)


class AllNegShardwise:
    """Positives piece by piece, all entities shard by shard."""

    whole = "all"

    def __init__(self, objective: AllNeg) -> None:
        self.objective = objective
        self.scoring = objective.scoring

    def drawn(
        self,
        batch: Tensor,
        draws: torch.Generator,  # noqa: ARG002
        known: KnownAnswers,  # noqa: ARG002
        weights: Tensor | None,  # noqa: ARG002
    ) -> Ids:
        """All."""
        return np.arange(len(batch))

    def positives(
        self,
        model: Model,
        triples: Tensor,
        heads: Ends,
        tails: Ends,
        shares: Tensor,
        count: int,  # noqa: ARG002
    ) -> Positives:
        """-sum_p share_p f_p; f_p is a term of the sum, too."""
        relation = triples[:, 1]
        queries = model.query_of(heads.vectors, relation)
        beside = model.comparing(relation)
        scale = self.scoring.scale(model, relation)
        compared = model.compare(queries, tails.vectors.unsqueeze(1), beside)
        scores = self.scoring.activate(model, compared, scale).squeeze(1)
        if heads.head_bias is not None and tails.tail_bias is not None:
            scores = scores + (heads.head_bias + tails.tail_bias).squeeze(1)
        value = -(shares.to(scores.dtype) * scores).sum()
        asked = Asked(queries, scale, beside, heads.head_bias)
        return Positives(asked, value, {"positives": value}, others=scores[:, None])

    def sum_shares(self, shares: Tensor) -> Tensor:
        """Those of the positives."""
        return shares

    def leaving_out(self, model: Model, sampled: Tensor, *, block: bool) -> LeavingOut:  # noqa: ARG002
        """The target is always a term: of a block's sum by itself."""
        return LeavingOut(self.objective.leave_out_known, None, block, None)

    def bounds(self, model: Model, relation: Tensor) -> Tensor | None:
        """The bound of the activation where scores are made of it alone."""
        bound = self.scoring.activation.bound
        if not has_floor(bound) or model.similarity == "dot" or model.tail_bias is not None:
            return None
        return torch.full((len(relation),), bound)

    def sweep(
        self,
        model: Model,
        relation: Tensor,  # noqa: ARG002
        asked: Asked,
        ends: Ends,
        begins: Ids,
        without: Pairs,
    ) -> Sweep:
        """By squared L2 distance, or by whatever the model compares by."""
        if model.similarity == "l2" and model.tail_bias is None:
            queries = Queries(asked.vectors, asked.scale)
            return l2_sweep(self.scoring.activation, queries, ends.vectors, begins, without)

        def score(
            vectors: Tensor,
            scale: Tensor | None,
            beside: Tensor | None,
            head_bias: Tensor | None,
            entities: Tensor,
            tail_bias: Tensor | None,
        ) -> Tensor:
            compared = model.compare_all(vectors, entities, beside)
            scores = self.scoring.activate(model, compared, scale)
            if head_bias is None or tail_bias is None:
                return scores
            return scores + head_bias + tail_bias.T

        return PlainSweep(score, asked, (ends.vectors, ends.tail_bias), begins, without)


class PenalizedShardwise:
    """Another strategy, with the penalty of each piece."""

    def __init__(self, objective: Penalized, inner: Shardwise) -> None:
        self.objective = objective
        self.whole = inner.whole
        self.drawn, self.leaving_out = inner.drawn, inner.leaving_out
        self.bounds, self.sweep, self.sum_shares = inner.bounds, inner.sweep, inner.sum_shares
        self._inner = inner

    def positives(
        self, model: Model, triples: Tensor, heads: Ends, tails: Ends, shares: Tensor, count: int
    ) -> Positives:
        """The piece's part of the mean over all positives, whatever they weigh."""
        found = self._inner.positives(model, triples, heads, tails, shares, count)
        rows = torch.cat((heads.vectors, tails.vectors))
        part = len(triples) / count
        term = part * model.penalty_of(rows, triples[:, 1], self.objective.power)
        value = found.value + self.objective.weight * term
        return found._replace(value=value, parts={**found.parts, self.objective.name: term})


def shardwise(objective: Criterion, known: KnownAnswers) -> Shardwise:
    """A strategy shard by shard; those that cannot be are refused with the reason."""
    if type(objective) is HaLE:
        return HaLEShardwise(objective, known)
    if type(objective) is AllNeg:
        return AllNegShardwise(objective)
    if type(objective) is Penalized:
        return PenalizedShardwise(objective, shardwise(objective.objective, known))
    name = getattr(objective, "name", type(objective).__name__)
    raise SettingsError(
        [
            f"strategy: {name} does not train on ranks: only sums over all entities are divided "
            "among them, and it has none; take hale or allneg, or train in one process"
        ]
    )

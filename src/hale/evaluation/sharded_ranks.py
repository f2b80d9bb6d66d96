"""Ranks of targets among entities that are spread over the ranks of a group.

Every rank has all query vectors, and counts those of its own entities that score above a target and
those that score no lower; the counts are added up. They are whole numbers, and a score is computed
by the same call however many ranks there are, so the ranks of targets are the same, to the bit.

``ShardedRanks`` is what validation asks while a run trains. It takes a model of which this process
has the rows of a span, and the known answers of that span (training.sharded_answers). It counts as
``count_rivals`` does, by the kernel or in scores. Those it makes shard by shard on one thread:
what validation says decides which weights are kept.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers
from hale.engine import library as kernel
from hale.engine.counting import Comparison
from hale.engine.exchange import rows_for_all
from hale.engine.group import Group
from hale.engine.plain_sweep import one_thread
from hale.engine.shards import Shards
from hale.evaluation.ranks import (
    Rivals,
    Ties,
    count_above,
    counted_in_registers,
    rank_of,
    summed_over,
    targets_in,
)
from hale.evaluation.spans import (
    Scored,
    by_vectors_alone,
    chunk_size,
    chunks_of,
    not_finite_scores,
)
from hale.models import Model
from hale.models.base import LAST


class Queries:
    """The queries of triples (b, 3) as all ranks see them, and the entities of this one."""

    def __init__(self, group: Group, shards: Shards, model: Model, triples: Ids) -> None:
        self.group, self.shards, self.model = group, shards, model
        self.span = shards.span(group.rank)
        self.head, self.relation, self.tail = (torch.tensor(column) for column in triples.T)
        owners = shards.owners(triples[:, 0])
        mine = torch.from_numpy(triples[owners == group.rank, 0] - self.span.first)
        own = [model.entity(mine)] + ([] if model.head_bias is None else [model.head_bias(mine)])
        rows = rows_for_all(group, owners, torch.cat(own, dim=1))
        width = model.entities().shape[1]
        with one_thread():
            self.vectors = model.query_of(rows[:, :width], self.relation)
            self.beside = model.comparing(self.relation)
        self.own = None if model.head_bias is None else rows[:, width:]  # (b, 1)
        out = model.ruled_out(self.relation)
        nobody = torch.full_like(self.head, -1)
        self.barred = nobody if out is None else torch.where(out, self.head, nobody)

    def comparison(self) -> Comparison | None:
        """As the kernel compares them; None where it does not."""
        model = self.model
        if not by_vectors_alone(model) or model.similarity not in ("l2", "dot"):
            return None
        if not kernel.takes(model.entities()):
            return None
        compared = Comparison(
            queries=self.vectors,
            entities=model.entities(),
            by_distance=model.similarity == "l2",
            own=None if self.own is None else self.own.squeeze(1),
            biases=None if model.tail_bias is None else model.tail_bias.weight[:, 0],
        )
        return compared if compared.fits() else None

    def scored(self, known: KnownAnswers, triples: Ids) -> list[Scored]:
        """The scores of this rank's entities, shard by shard."""
        rows, answers = known.of(triples[:, 0], triples[:, 1])
        found = []
        begins = self.shards.begins_of(self.group.rank).tolist()
        for first, last in pairwise(begins):
            if first == last:
                continue
            part = slice(first - self.span.first, last - self.span.first)
            with one_thread():
                entities = self.model.entities()[part]
                scores = self.model.compare_all(self.vectors, entities, self.beside)
                if self.own is not None and self.model.tail_bias is not None:
                    scores = scores + self.own + self.model.tail_bias.weight[part].T
            barred = ((self.barred >= first) & (self.barred < last)).nonzero().squeeze(1)
            scores[barred, self.barred[barred] - first] = LAST
            inside = (answers >= first) & (answers < last)
            pairs = torch.from_numpy(rows[inside]), torch.from_numpy(answers[inside] - first)
            found.append(Scored(slice(0, len(triples)), scores, pairs, first))
        return found


class ShardedRanks:
    """Ranks the tails of triples by a model of which this rank has a span of the entities."""

    def __init__(self, group: Group, shards: Shards) -> None:
        self.group = group
        self.shards = shards
        self.span = shards.span(group.rank)

    @torch.inference_mode()
    def __call__(
        self, model: Model, triples: Ids, known: KnownAnswers, *, ties: Ties = "mean"
    ) -> NDArray[np.float64]:
        """The filtered rank of each triple's tail among all entities: (n, 3) -> (n,)."""
        higher, no_lower = self.count(model, triples, known)
        return rank_of(higher, no_lower, ties).numpy().astype(np.float64)

    @torch.inference_mode()
    def count(self, model: Model, triples: Ids, known: KnownAnswers) -> tuple[Tensor, Tensor]:
        """Candidates of all ranks above the tails of triples (n, 3), and no lower: (n,), (n,)."""
        counts = [torch.empty(2, 0, dtype=torch.long)]
        most = chunk_size(model.entities().shape[1])
        for part in chunks_of(triples[:, 0], triples[:, 1], most, known):
            queries = Queries(self.group, self.shards, model, triples[part])
            counts.append(self._count(queries, triples[part], known))
        higher, no_lower = torch.cat(counts, dim=1)
        return higher, no_lower

    def _count(self, queries: Queries, triples: Ids, known: KnownAnswers) -> Tensor:
        """Both counts of a chunk: (2, b)."""
        compared = queries.comparison()
        if compared is not None:
            asked = queries.barred, triples, known, None
            found = counted_in_registers(compared, *asked, *self.span, group=self.group)
        else:
            found = self._in_scores(queries, queries.scored(known, triples))
        return torch.stack(summed_over(self.group, found)[1:])

    def _in_scores(self, queries: Queries, blocks: list[Scored]) -> Rivals:
        """The rivals that this rank counts in scores of its own entities."""
        tail = queries.tail
        targets = targets_in(self.group, blocks, tail, queries.vectors)
        here = all(bool(torch.isfinite(scored.scores).all()) for scored in blocks)
        if self.group.any(not here) or not torch.isfinite(targets).all():
            raise not_finite_scores()
        counts = torch.zeros(2, len(tail), dtype=torch.long)
        for scored in blocks:
            counts += torch.stack(count_above(scored, targets[:, None], tail - scored.first))
        return Rivals(targets, *counts)

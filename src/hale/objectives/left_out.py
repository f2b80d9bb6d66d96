"""What the sums of a batch's queries leave out: known answers, heads ruled out, targets."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.keys import Ids, pair_keys, pairs_of
from hale.data.known_answers import KnownAnswers
from hale.engine.blocks import Block
from hale.engine.estimate import WHOLE, Estimate, estimate
from hale.engine.shards import Span
from hale.errors import InputError

# What a query has to be left: a column of its sum, at least an entity, or it does not matter.
Keep = Literal["column", "entity"] | None


class LeftOut(NamedTuple):
    """Pairs (query, column) to leave out, in order, and how many each query leaves out in all.

    A column is an entity or, of a block, its place there.
    """

    rows: Ids  # (p,)
    columns: Ids  # (p,)
    counts: Ids  # (m,) over all entities, in the block or not

    def pairs(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """As tensors."""
        return torch.from_numpy(self.rows).to(device), torch.from_numpy(self.columns).to(device)

    def keeping(self, keep: Keep, counts: Ids, here: Ids, num_entities: int, width: int) -> LeftOut:
        """The same, but for queries that would be left nothing of what they have to keep.

        ``counts`` (m,) are left out of all entities, ``here`` (m,) of the ``width`` summed.
        """
        full = left_nothing(keep, counts, here, num_entities, width)
        partial = ~full[self.rows]
        return LeftOut(self.rows[partial], self.columns[partial], np.where(full, 0, self.counts))

    def estimate(
        self, block: Block | None, bounds: Tensor | None, device: torch.device
    ) -> Estimate:
        """How sums over the block stand for sums over all; bounds (m,) of the activation."""
        if block is None:
            return WHOLE
        here = np.bincount(self.rows, minlength=len(self.counts))
        return estimate(
            block.num_entities,
            len(block),
            bounds=bounds,
            left_out=torch.from_numpy(self.counts).to(device),
            left_out_here=torch.from_numpy(here).to(device),
        )


def left_out(
    triples: Tensor,
    num_entities: int,
    *,
    known: KnownAnswers | None = None,
    ruled_out: Tensor | None = None,
    tails: bool | None = None,
    block: Block | None = None,
    keep: Keep = "column",
    span: Span | None = None,
) -> LeftOut:
    """What the queries of triples (m, 3) leave out of their sums over entities, or over a block.

    The answers that are ``known``; the head where it is ``ruled_out`` (m,) as an answer; the tail
    where ``tails``, and never where it is False. A query that would be left nothing of what it has
    to ``keep``, a column or at least an entity outside the block, leaves out nothing.

    Of a ``span`` of the entities, all answers known are in it, the block is what it has of one, and
    columns and counts are of the span alone; without a block columns count from its first.
    """
    ids = triples.cpu().numpy()
    heads, tail_ids = ids[:, 0], ids[:, 2]
    rows = answers = np.empty(0, dtype=np.int64)
    if known is not None:
        rows, answers = known.of(heads, ids[:, 1])
    if tails is not None:  # added below, or never
        others = answers != tail_ids[rows]
        rows, answers = rows[others], answers[others]
    more = []
    if tails:
        more.append((np.arange(len(ids)), tail_ids))
    if ruled_out is not None:
        chosen = ruled_out.cpu().numpy().copy()
        chosen[rows[answers == heads[rows]]] = False  # it is among them
        if tails is not None:
            chosen &= heads != tail_ids
        more.append((np.flatnonzero(chosen), heads[chosen]))
    if span is not None:
        inside = [span.holds(entities) for _, entities in more]
        more = [(at[kept], of[kept]) for (at, of), kept in zip(more, inside, strict=True)]
    counts = np.bincount(rows, minlength=len(ids))
    for extra, _ in more:
        counts += np.bincount(extra, minlength=len(ids))

    width = num_entities if block is None else len(block)
    if block is not None:
        rows, answers = _inside(block, rows, answers)
        more = [_inside(block, *extra) for extra in more]
    elif span is not None:
        answers = answers - span.first
        more = [(at, of - span.first) for at, of in more]
    rows, answers = _merged(rows, answers, more, (len(ids), width))
    found = LeftOut(rows, answers, counts)
    here = np.bincount(rows, minlength=len(ids))
    return found.keeping(keep, counts, here, num_entities, width)


def left_nothing(
    keep: Keep, counts: Ids, here: Ids, num_entities: int, width: int
) -> NDArray[np.bool_]:
    """Which queries would be left nothing of what they have to keep: (m,), (m,) -> (m,)."""
    full: NDArray[np.bool_] = (counts >= num_entities) & (keep is not None)
    return full | (here >= width) if keep == "column" else full


def required(known: KnownAnswers | None) -> KnownAnswers:
    """The known answers, which leave_out_known cannot do without."""
    if known is None:
        raise InputError("leave_out_known needs the known answers of the training triples.")
    return known


def _inside(block: Block, rows: Ids, entities: Ids) -> tuple[Ids, Ids]:
    """The pairs whose entity is in the block, by its place there."""
    places = block.places(entities)
    inside: NDArray[np.bool_] = places >= 0
    return rows[inside], places[inside]


def _merged(
    rows: Ids, columns: Ids, more: list[tuple[Ids, Ids]], sizes: tuple[int, int]
) -> tuple[Ids, Ids]:
    """Pairs in order, with others among them, none of which is there."""
    if not any(len(extra) for extra, _ in more):
        return rows, columns
    keys = pair_keys(rows, columns, sizes)
    for extra, others in more:
        added = pair_keys(extra, others, sizes)
        keys = np.insert(keys, np.searchsorted(keys, added), added)
    return pairs_of(keys, sizes[1])

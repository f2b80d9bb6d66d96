"""A training step on the ranks of a group: the same bits on any number of them, one too.

    1  rows of the batch's heads and tails to those who have its pieces        all-to-all
    2  what the drawn queries have, and how many answers they leave out        all-gather
    3  the largest score of each, where scores have no bound, before           all-reduce, largest
       the sums over all entities                                              all-reduce
    4  gradients of rows home                                                  all-to-all
    5  gradients by relations, the loss, the clock, stop and save              all-reduce

Batches, draws and blocks are functions of seed and step, so every rank knows what the others need.
An all-reduce of much between more than two goes in two rounds (engine.group). Of P ranks each
sends, with B positives, m queries drawn, rows of w numbers, T numbers in the tables that all have,
4 bytes a number and 12 bytes one that is summed (engine.exact), in a step under HaLE about

    4 B w 4 (P - 1) / P^2                                     rows there, gradients back
    (P - 1) (m / P (d + 1) 4 + 8 m)                           drawn queries, counts
    2 (P - 1) / P 12 (m (3 + d) + T) + (P - 1) 4 m            sums, gradients by relations, places

bytes, whatever the number of entities.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hale.data.keys import Ids
from hale.data.known_answers import KnownAnswers
from hale.engine import library as kernel
from hale.engine.blocks import Block
from hale.engine.estimate import WHOLE, Estimate, estimate
from hale.engine.exact import exact_sum
from hale.engine.exchange import Exchange
from hale.engine.group import Group
from hale.engine.plain_sweep import one_thread
from hale.engine.rows import add_rows, sum_rows
from hale.engine.shard_sums import LogSums, log_sums
from hale.engine.shards import Shards
from hale.engine.tiles import Pairs
from hale.models import Model
from hale.objectives import Criterion, Loss
from hale.objectives.left_out import left_nothing, left_out
from hale.objectives.shardwise import Asked, Shardwise, shardwise
from hale.training.optimizers import Optimizer
from hale.training.pace import Pace
from hale.training.pieces import Cut, Pieces, ends_of, row_width, tables_of
from hale.training.steps import Moment


class RankedStep:
    """Steps of a model of which this rank has the rows of a span, by one optimiser."""

    def __init__(
        self,
        group: Group,
        shards: Shards,
        model: Model,
        optimizer: Optimizer,
        known: KnownAnswers,
        pace: Pace,
        pieces: Pieces,
    ) -> None:
        self.group = group
        self.shards = shards
        self.span = shards.span(group.rank)
        self.model = model
        self.optimizer = optimizer
        self.known = known
        self.pace = pace
        self.pieces = pieces

    @torch.no_grad()
    def __call__(self, objective: Criterion, moment: Moment) -> Loss:
        """One step on positives (B, 3): its loss, of which all that it touches has moved.

        Where the loss is not finite nothing has.
        """
        batch, weights, block, rate = moment.batch, moment.weights, moment.block, moment.rate
        by = shardwise(objective, self.known)
        self.pieces.settle_shape(by)
        cut = Cut(len(batch), self.group)
        triples = batch.numpy()
        ends = np.concatenate((triples[:, 0], triples[:, 2]))
        askers = np.tile(cut.ranks(np.arange(len(triples))), 2)
        exchange = Exchange(self.group, askers, self.shards.owners(ends))
        owned = torch.from_numpy(ends[exchange.owned] - self.span.first)
        fetched = exchange.fetch(self.rows(owned))  # while they travel:
        shares = shares_of(batch, weights)
        drawn = by.drawn(batch, moment.draws(), self.known, weights)  # ascending, so by rank
        mine = torch.from_numpy((drawn >= cut.first) & (drawn < cut.last))
        at = torch.from_numpy(drawn)
        places = at[mine] - cut.first
        sums = _Sums(self, by, batch.index_select(0, at), block, shares.index_select(0, at))

        both = fetched()
        half = len(both) // 2
        self.pieces.forward(by, cut, shares, both[:half], both[half:], moment)
        rows = sums.gather(self.pieces.asked(places), cut.ranks(drawn))
        found, by_asked = sums.made(rows)

        back = self.pieces.backward(places, by_asked[mine])
        home = exchange.home(torch.cat((back.heads, back.tails)))
        parts, told = exact_sum(self.group, back.parts, self.pieces.part_widths, self.pace.say())
        assert told is not None
        self.pace.hear(told)
        rows = home()
        value, named = self.pieces.put(parts[0])
        total = float((sums.shares * found.logs).sum())
        loss = Loss(
            torch.tensor(value + total),
            {name: torch.tensor(part) for name, part in {**named, by.whole: total}.items()},
        )
        if torch.isfinite(loss.total):
            self._move(sums, self._side_by_side(found), owned, rows, rate)
        return loss

    def rows(self, ids: Tensor) -> Tensor:
        """Rows of this rank as they travel, up to date: (n,) of its span -> (n, w)."""
        tables = [getattr(self.model, name) for name in tables_of(self.model)]
        first, *others = (table.look_up(ids)[0] for table in tables)
        return torch.cat((first, *others), dim=1) if others else first

    def all_rows(self) -> Tensor:
        """All rows of this rank: the table itself, where there is but one."""
        self.optimizer.settle()
        first, *others = (table.detach() for table in tables_of(self.model).values())
        return torch.cat((first, *others), dim=1) if others else first

    def _side_by_side(self, found: LogSums) -> Tensor:
        """The gradients of the entities that were summed over, as rows travel."""
        by_entity, *rest = found.by_tables
        assert by_entity is not None
        if row_width(self.model) == by_entity.shape[1]:
            return by_entity
        (by_bias,) = rest
        assert by_bias is not None
        return torch.cat((by_entity, torch.zeros_like(by_bias), by_bias), dim=1)

    def _move(
        self, sums: _Sums, by_summed: Tensor, owned: Tensor, by_owned: Tensor, rate: float
    ) -> None:
        """Move rows of the span along their gradients, and what all ranks share.

        (s, w) of those that were summed over and (n, w) of the ends of positives, which may repeat.
        """
        if sums.block is None:
            with one_thread():
                ids, rows = sums.here, add_rows(by_summed, owned, by_owned)
        else:
            both = torch.cat((sums.here, owned)), torch.cat((by_summed, by_owned))
            ids, rows = added_up(*both, len(self.span))
        first = 0
        for name, table in tables_of(self.model).items():
            last = first + table.shape[1]
            self.optimizer.move_rows(f"{name}.weight", ids, rows[:, first:last].contiguous(), rate)
            first = last
        with one_thread():
            self.optimizer.step(rate)


class _Sums:
    """The sums of sampled triples (m, 3) over the entities of all ranks, or over a block."""

    def __init__(
        self, step: RankedStep, by: Shardwise, sampled: Tensor, block: Block | None, shares: Tensor
    ) -> None:
        self.step, self.by, self.block = step, by, block
        self.sampled = sampled
        self.shares = by.sum_shares(shares)
        span, model, num_entities = step.span, step.model, step.shards.num_rows
        begins = step.shards.begins_of(step.group.rank)
        if block is None:
            self.here = torch.arange(len(span))
            self.begins, part = begins - span.first, None
        else:
            first, last = np.searchsorted(block.ids.numpy(), span)
            part = Block(block.ids[first:last], num_entities)
            self.here = part.ids - span.first
            self.begins = np.searchsorted(part.ids.numpy(), begins)
        self.rows = step.all_rows() if block is None else step.rows(self.here)
        self.leaving = by.leaving_out(model, sampled, block=block is not None)
        self.left = left_out(
            sampled,
            num_entities,
            known=step.known if self.leaving.known else None,
            ruled_out=self.leaving.ruled_out,
            tails=self.leaving.tails,
            block=part,
            keep=None,
            span=span,
        )
        m = len(sampled)
        self.counts = np.stack((self.left.counts, np.bincount(self.left.rows, minlength=m)))

    def gather(self, rows: Tensor, ranks: Ids) -> Tensor:
        """What the queries of all ranks have, from those of this one: (p, k) -> (m, k).

        Counts of what is left out here travel with them, and become those of all ranks.
        """
        group, width = self.step.group, rows.shape[1]
        owned = np.bincount(ranks, minlength=group.size).tolist()
        whole = torch.int64 if rows.dtype == torch.float64 else torch.int32
        counts = torch.from_numpy(self.counts).to(whole).view(rows.dtype).flatten()
        room = rows.new_zeros(width * max(owned))
        room[: rows.numel()] = rows.flatten()
        found = group.all_gather(torch.cat((room, counts))[None], [1] * group.size)
        said = found[:, len(room) :].contiguous().view(whole).long().sum(dim=0)
        self.counts = said.view(2, -1).numpy()
        parts = [one[: width * n].view(n, width) for one, n in zip(found, owned, strict=True)]
        return torch.cat(parts)

    def made(self, rows: Tensor) -> tuple[LogSums, Tensor]:
        """The sums, and the gradients by what queries have: (m, k)."""
        step, pieces = self.step, self.step.pieces
        found = iter(torch.split(rows, pieces.widths, dim=1))
        vectors, *rest = (next(found) if there else None for there in pieces.present)
        assert vectors is not None
        asked = Asked(vectors, *rest)
        others = next(found, None)
        relation = self.sampled[:, 1]
        estimated, without = self._estimate(relation)
        sweep = self.by.sweep(
            step.model,
            relation,
            asked,
            ends_of(step.model, self.rows),
            self.begins,
            without,
        )
        terms = None if others is None or self.block is None else others.squeeze(1)
        made = log_sums(step.group, sweep, self.shares, estimated, terms)
        columns = [by.flatten(1).to(rows.dtype) for by in made.by_rows if by is not None]
        if others is not None:
            by_others = torch.zeros_like(others) if made.by_others is None else made.by_others
            columns.append(by_others.view_as(others).to(rows.dtype))
        return made, torch.cat(columns, dim=1)

    def _estimate(self, relation: Tensor) -> tuple[Estimate, Pairs]:
        """How the sums stand for those over all entities, and the pairs here to leave out."""
        block, total = self.block, self.step.shards.num_rows
        width = total if block is None else len(block)
        everywhere, here = self.counts
        left = self.left.keeping(self.leaving.keep, everywhere, here, total, width)
        without = left.pairs(torch.device("cpu"))
        if block is None:
            return WHOLE, without
        kept = left_nothing(self.leaving.keep, everywhere, here, total, width)
        return (
            estimate(
                total,
                width,
                bounds=self.by.bounds(self.step.model, relation),
                left_out=torch.from_numpy(np.where(kept, 0, everywhere)),
                left_out_here=torch.from_numpy(np.where(kept, 0, here)),
            ),
            without,
        )


def shares_of(batch: Tensor, weights: Tensor | None) -> Tensor:
    """What each positive of a batch is of their mean: (B,), float64."""
    if weights is None:
        return torch.full((len(batch),), 1 / len(batch), dtype=torch.float64)
    exact = weights.double()
    return exact / exact.sum()


def added_up(ids: Tensor, rows: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Rows (n, w) added up by their ids (n,), those of one id in their order -> (U,), (U, w)."""
    if kernel.takes(rows):
        found = sum_rows((ids,), (rows,), count)
        return found._indices()[0], found._values()
    with one_thread():  # which adds one row after the other
        touched, place = torch.unique(ids, return_inverse=True)
        return touched, rows.new_zeros(len(touched), rows.shape[1]).index_add_(0, place, rows)

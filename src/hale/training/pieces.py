"""Pieces of a batch, of which each rank has some: their queries forward, and gradients back.

The cut depends on the batch alone, and a piece is computed by the same calls wherever that is, by
one thread: so no bit depends on who has which. What a model sums over the rows of a piece is a
float; pieces meet as whole numbers (engine.exact). Batch normalisation sees a piece at a time, and
its running figures move by the mean of what pieces say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hale.data.keys import Ids
from hale.engine.group import Group
from hale.engine.plain_sweep import one_thread
from hale.engine.randomness import Stream, seeded
from hale.models import Model
from hale.objectives.shardwise import Ends, Positives, Shardwise
from hale.training.steps import Moment

PIECES = 8  # a piece takes half a millisecond of calls, however small it is

COUNT = "num_batches_tracked"  # by batch normalisation: of a step it is one, however many pieces

TABLES = ("entity", "head_bias", "tail_bias")  # of rows that ranks own, side by side as they travel


class Cut:
    """A batch of ``count`` positives in pieces, and the ranks that have them."""

    def __init__(self, count: int, group: Group) -> None:
        self.begins: Ids = count * np.arange(PIECES + 1, dtype=np.int64) // PIECES
        owned = PIECES * np.arange(group.size + 1, dtype=np.int64) // group.size
        self.numbers = range(int(owned[group.rank]), int(owned[group.rank + 1]))  # of this rank
        self.filled = int((np.diff(self.begins) > 0).sum())
        self.firsts = self.begins[owned]  # places of ranks, and the end
        self.first, self.last = (int(self.firsts[group.rank + i]) for i in (0, 1))

    def ranks(self, places: Ids) -> Ids:
        """Who has the piece of each place: (n,) -> (n,)."""
        found: Ids = np.searchsorted(self.firsts, places, side="right") - 1
        return found


class _Piece(NamedTuple):
    places: slice  # among those of this rank
    heads: Tensor
    tails: Tensor
    found: Positives
    moved: Tensor  # (k,) by how much buffers would move


class Gradients(NamedTuple):
    """By the rows of heads and tails (b, w), and by all else, a row for each piece: (c, 1, k)."""

    heads: Tensor
    tails: Tensor
    parts: Tensor


class Pieces:
    """What is computed of a batch piece by piece, on this rank."""

    def __init__(self, model: Model, group: Group) -> None:
        self.model = model
        self.group = group
        tables = {f"{name}.weight" for name in TABLES}
        self.shared = {n: value for n, value in model.named_parameters() if n not in tables}
        found = [
            (module, name, value)
            for module in model.modules()
            for name, value in module.named_buffers(recurse=False)
        ]
        self.buffers = [(module, name) for module, name, v in found if v.is_floating_point()]
        self.counts = [value for _, name, value in found if name == COUNT]
        self.widths: list[int] = []  # of what queries have, side by side
        self.present: list[bool] = []  # which of Asked they have
        self.names: list[str] = []  # of the parts of the loss
        self._done: list[_Piece] = []
        self._counted: list[int] = []

    def settle_shape(self, by: Shardwise) -> None:
        """Find out what queries have: a rank without a piece has to know, too."""
        if self.widths:
            return
        held, rows = self._held(), row_width(self.model)
        self._lend(held)
        some = torch.zeros(2, rows, dtype=self.model.entities().dtype)
        with torch.no_grad():
            found = self._positives(by, torch.zeros(2, 3, dtype=torch.long), some, some, some[:, 0])
        self._put_back(held)
        self.widths = [x[0].numel() for x in columns_of(found)]
        self.present = [x is not None for x in found.asked]
        self.names = list(found.parts)

    def forward(
        self,
        by: Shardwise,
        cut: Cut,
        shares: Tensor,
        heads: Tensor,
        tails: Tensor,
        moment: Moment,
    ) -> None:
        """Queries, and what positives say, from the rows of heads and tails (b, w) of this rank.

        ``shares`` (B,) are those of positives in their mean.
        """
        held, dropping = self._held(), self.model.dropout.share > 0
        batch, self._done = moment.batch, []
        with one_thread(), torch.enable_grad():
            for number in cut.numbers:
                first, last = int(cut.begins[number]), int(cut.begins[number + 1])
                if first == last:
                    continue
                here = slice(first - cut.first, last - cut.first)
                head, tail = (rows[here].detach().requires_grad_() for rows in (heads, tails))
                counter = moment.step * PIECES + number
                self._lend(held)
                with seeded(moment.seed, Stream.DROPOUT, counter, only=dropping):
                    found = self._positives(
                        by, batch[first:last], head, tail, shares[first:last], len(batch)
                    )
                moved = self._put_back(held) / cut.filled
                self._done.append(_Piece(here, head, tail, found, moved))

    def _positives(
        self,
        by: Shardwise,
        triples: Tensor,
        heads: Tensor,
        tails: Tensor,
        shares: Tensor,
        count: int = 1,
    ) -> Positives:
        head, tail = (ends_of(self.model, rows) for rows in (heads, tails))
        return by.positives(self.model, triples, head, tail, shares, count)

    def asked(self, places: Tensor) -> Tensor:
        """What queries at places (p,) of this rank have, side by side: (p, k)."""
        flat = [
            torch.cat([x.detach().flatten(1) for x in columns_of(piece.found)], dim=1)
            for piece in self._done
        ]
        nothing = torch.empty(0, sum(self.widths), dtype=self.model.entities().dtype)
        return torch.cat([*flat, nothing]).index_select(0, places)

    def backward(self, places: Tensor, by_asked: Tensor) -> Gradients:
        """Gradients, given those by what queries at places (p,) have: (p, k)."""
        count = self._done[-1].places.stop if self._done else 0
        heads, tails = (by_asked.new_zeros(count, row_width(self.model)) for _ in range(2))
        everywhere = by_asked.new_zeros(count, by_asked.shape[1]).index_copy_(0, places, by_asked)
        parts = [torch.empty(0, 1, sum(self.part_widths), dtype=torch.float64)]
        with one_thread():
            for piece in self._done:
                at, found = piece.places, piece.found
                outputs, given = [found.value], [torch.ones_like(found.value)]
                runs = torch.split(everywhere[at], self.widths, dim=1)
                for output, run in zip(columns_of(found), runs, strict=True):
                    if output.requires_grad:
                        outputs.append(output)
                        given.append(run.reshape(output.shape))
                inputs = [piece.heads, piece.tails, *self.shared.values()]
                gradients = torch.autograd.grad(outputs, inputs, given, allow_unused=True)
                by_head, by_tail, *rest = (
                    torch.zeros_like(x) if g is None else g
                    for x, g in zip(inputs, gradients, strict=True)
                )
                heads[at], tails[at] = by_head, by_tail
                told = torch.stack([found.value, *found.parts.values()]).detach()
                flat = (*(gradient.flatten() for gradient in rest), piece.moved, told)
                parts.append(torch.cat([one.double() for one in flat])[None, None])
        self._done = []
        return Gradients(heads, tails, torch.cat(parts))

    @property
    def part_widths(self) -> list[int]:
        """How wide gradients by shared parameters, buffers, and values are, in a part."""
        sizes = [value.numel() for value in (*self.shared.values(), *self._held())]
        return [*sizes, *[1] * (1 + len(self.names))]

    def put(self, sums: Tensor) -> tuple[float, Mapping[str, float]]:
        """Let parts that were summed (k,) be gradients and buffers -> what positives say.

        The value of all positives, and the parts of the loss.
        """
        found = list(torch.split(sums, self.part_widths))
        for parameter in self.shared.values():
            parameter.grad = found.pop(0).view_as(parameter).to(parameter.dtype)
        for buffer in self._held():
            buffer += found.pop(0).view_as(buffer).to(buffer.dtype)
        for count in self.counts:
            count += 1
        value, *told = (one.item() for one in found)
        return value, dict(zip(self.names, told, strict=True))

    def _held(self) -> list[Tensor]:
        return [module.get_buffer(name) for module, name in self.buffers]

    def _lend(self, held: Sequence[Tensor]) -> None:
        """Let a piece have buffers of its own: what it needs of them it needs as they were."""
        self._counted = [int(count) for count in self.counts]
        for (module, name), value in zip(self.buffers, held, strict=True):
            setattr(module, name, value.clone())

    def _put_back(self, held: Sequence[Tensor]) -> Tensor:
        """By how much a piece moved its buffers: (k,). The model has its own again."""
        for count, number in zip(self.counts, self._counted, strict=True):
            count.fill_(number)
        moved = [torch.empty(0)]
        for (module, name), value in zip(self.buffers, held, strict=True):
            moved.append((module.get_buffer(name) - value).flatten())
            setattr(module, name, value)
        return torch.cat(moved)


def columns_of(found: Positives) -> list[Tensor]:
    """What queries have, each (b, ...); the term beside the entities comes last."""
    return [x for x in (*found.asked, found.others) if x is not None]


def tables_of(model: Model) -> dict[str, Tensor]:
    """The tables of rows that ranks own, by their names: (n, w) each."""
    tables = {name: getattr(model, name) for name in TABLES}
    return {name: table.weight for name, table in tables.items() if table is not None}


def row_width(model: Model) -> int:
    """How wide the row of an entity is, as it travels."""
    return sum(table.shape[1] for table in tables_of(model).values())


def ends_of(model: Model, rows: Tensor) -> Ends:
    """Rows as they travel (b, w), by what they are."""
    names, widths = zip(*((n, t.shape[1]) for n, t in tables_of(model).items()), strict=True)
    found = dict(zip(names, torch.split(rows, list(widths), dim=1), strict=True))
    return Ends(found["entity"], found.get("head_bias"), found.get("tail_bias"))

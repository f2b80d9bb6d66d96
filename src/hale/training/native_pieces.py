"""Pieces of a batch by the kernel: HaLE with a model that rotates or maps.

By autograd a piece is half a millisecond of small calls. Here all rows of a rank are turned into
queries and pulled to their tails by one call each, for a row does not depend on the others, and
only what is summed over rows, gradients by relations, is made piece by piece. Those are by the
tables as queries use them, such as turns of length one; where the sums of all ranks are known,
every rank takes them back to what is trained, once a step.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hale.engine import library as kernel
from hale.engine import native
from hale.engine.group import Group
from hale.engine.plain_sweep import one_thread
from hale.engine.randomness import Stream, drawn_key, generator
from hale.engine.rows import within
from hale.engine.structures import Map, Turn
from hale.engine.turns import ROWS_OF_THREAD
from hale.models import Model
from hale.models.dropout import drawn_mask
from hale.objectives import HaLE
from hale.objectives.base import Criterion
from hale.objectives.shardwise import HaLEShardwise, Shardwise
from hale.training.pieces import PIECES, Cut, Gradients, Pieces, row_width
from hale.training.steps import Moment


def pieces_for(model: Model, objective: Criterion, group: Group, *, weighted: bool) -> Pieces:
    """By the kernel where it has all of it: facts that are ``weighted`` are not for it."""
    fits = (
        type(objective) is HaLE
        and model.is_turn_or_map
        and model.similarity == "l2"
        and type(objective.activation) in native.KINDS
        and all(kernel.takes(parameter) for parameter in model.parameters())
        and not weighted
    )
    return NativePieces(model, group) if fits else Pieces(model, group)


class NativePieces(Pieces):
    """The same as Pieces, which are its reference; rows are those of the entity table alone."""

    def __init__(self, model: Model, group: Group) -> None:
        super().__init__(model, group)
        self.width = row_width(model)
        self.scaled = True
        self.names = ["alignment"]
        # tables as queries use them, with the graph to what is trained and without
        self.made: list[Tensor] = []
        self.used: list[Tensor] = []
        self.begins: list[int] = []  # of the pieces here, and the end

    def settle_shape(self, by: Shardwise) -> None:
        """Queries have their vectors and, if the strategy has them, scales."""
        assert isinstance(by, HaLEShardwise)
        self.scaled = by.objective.relation_scale
        self.widths = [self.width, 1][: 1 + self.scaled]
        self.present = [True, self.scaled, False, False]

    @torch.no_grad()
    def forward(
        self,
        by: Shardwise,
        cut: Cut,
        shares: Tensor,  # noqa: ARG002
        heads: Tensor,
        tails: Tensor,
        moment: Moment,
    ) -> None:
        """Queries, and what positives say, from the rows of heads and tails (b, w) of this rank."""
        assert isinstance(by, HaLEShardwise)
        objective, count = by.objective, len(moment.batch)
        numbers = [number for number in cut.numbers if cut.begins[number] < cut.begins[number + 1]]
        self.begins = [int(cut.begins[number]) - cut.first for number in numbers]
        self.begins.append(cut.last - cut.first)
        self._make_tables()
        self.heads = heads.contiguous()
        self.relation = within(moment.batch[cut.first : cut.last, 1], self.made[-1].numel())
        self.queries = torch.zeros_like(self.heads)
        self._ask("hale_turn", "hale_map", 0, len(heads), queries=self.queries.data_ptr())
        self.mask = self._drawn_mask(numbers, moment)
        if self.mask is not None:
            self.queries[:, : self.model.dim] *= self.mask
        self.scale = self.used[-1].flatten().index_select(0, self.relation)
        if not self.scaled:
            self.scale = torch.ones_like(self.scale)
        activated, self.by_query, self.by_tail, self.by_scale = native.align(
            self.queries,
            tails,
            self.scale,
            objective.activation,
            square=objective.square,
            weight=objective.weight,
            gammas=by.gammas(self.model, self.relation),
            count=count,
        )
        exact = activated.double()
        pulled = (exact.square() if objective.square else exact) / count
        self.weight = objective.weight
        self.pulled = [
            float(pulled[first:last].sum())
            for first, last in zip(self.begins, self.begins[1:], strict=False)
        ]

    def _make_tables(self) -> None:
        """Turns or maps, shifts, alphas and scales, from what is trained."""
        with torch.enable_grad(), one_thread():
            if self.model.block_maps is None:
                found = [table for table in self.model.rotation() if table is not None]
            else:
                found = [self.shared["map.weight"], self.shared["shift.weight"]]
            self.made = [*found, functional.softplus(self.shared["free_scale.weight"])]
        self.used = [table.detach().contiguous() for table in self.made]

    def _ask(self, turn: str, maps: str, first: int, last: int, **fields: int) -> None:
        """Ask the kernel about rows from ``first`` to ``last``."""
        turns, *rest = self.used[:-1]
        k, stride = self.model.block_maps, self.width
        shared = {
            "b": last - first,
            "d": self.model.dim,
            "stride": stride,
            "width": stride,
            "relations": len(turns),
            "vectors": self.heads.data_ptr() + 4 * first * stride,
            "which": self.relation.data_ptr() + 8 * first,
            "threads": max(1, min(torch.get_num_threads(), (last - first) // ROWS_OF_THREAD)),
            "shifts": rest[0].data_ptr() if rest else None,
        }
        if k is not None:
            kernel.call(maps, Map(**shared, k=k, maps=turns.data_ptr(), **fields))
            return
        alphas = rest[1].data_ptr() if len(rest) > 1 else None
        kernel.call(turn, Turn(**shared, turns=turns.data_ptr(), alphas=alphas, **fields))

    def _drawn_mask(self, numbers: list[int], moment: Moment) -> Tensor | None:
        """What dropout makes of the queries' entries (b, d), drawn for each piece by itself."""
        dropout, dim = self.model.dropout, self.model.dim
        if not dropout.share:
            return None
        found = [torch.empty(0, dim)]
        for number, first, last in zip(numbers, self.begins, self.begins[1:], strict=False):
            draws = generator(moment.seed, Stream.DROPOUT, moment.step * PIECES + number)
            mask = drawn_mask((last - first) * dim, dropout.lost, drawn_key(draws))
            found.append(mask.view(-1, dim))
        return torch.cat(found)

    def asked(self, places: Tensor) -> Tensor:
        """What queries at places (p,) of this rank have, side by side: (p, k)."""
        columns = (self.queries, self.scale[:, None])[: 1 + self.scaled]
        return torch.cat([column.index_select(0, places) for column in columns], dim=1)

    def backward(self, places: Tensor, by_asked: Tensor) -> Gradients:
        """Gradients, given those by what queries at places (p,) have: (p, k)."""
        by_query, by_scale, dim = self.by_query, self.by_scale, self.model.dim
        by_query.index_add_(0, places, by_asked[:, : self.width])  # no place comes twice
        if self.scaled:
            by_scale.index_add_(0, places, by_asked[:, self.width])
        if self.mask is not None:
            by_query[:, :dim] *= self.mask
        by_heads = torch.zeros_like(by_query)
        pieces, count = len(self.begins) - 1, self.made[-1].numel()
        tables = [torch.empty(pieces, table.numel()) for table in self.made[:-1]]
        names = (
            ("by_maps", "by_shifts")
            if self.model.block_maps
            else ("by_turns", "by_shifts", "by_alphas")
        )
        scales = np.empty((pieces, count))
        for piece, (first, last) in enumerate(zip(self.begins, self.begins[1:], strict=False)):
            there = 4 * first * self.width
            into = {
                name: table[piece].data_ptr() for name, table in zip(names, tables, strict=False)
            }
            self._ask(
                "hale_turn_back",
                "hale_map_back",
                first,
                last,
                by_queries=by_query.data_ptr() + there,
                by_vectors=by_heads.data_ptr() + there,
                **into,
            )
            relation, slopes = self.relation[first:last].numpy(), by_scale[first:last].numpy()
            scales[piece] = np.bincount(relation, weights=slopes, minlength=count)
        said = torch.tensor(self.pulled, dtype=torch.float64).view(-1, 1)
        by_scales = torch.from_numpy(scales) if self.scaled else torch.zeros(pieces, count)
        parts = [*tables, by_scales, self.weight * said, said]
        return Gradients(by_heads, self.by_tail, torch.cat([x.double() for x in parts], 1)[:, None])

    @property
    def part_widths(self) -> list[int]:
        """How wide gradients by the tables as queries use them, and values, are in a part."""
        if not self.made:
            self._make_tables()
        return [*(table.numel() for table in self.made), 1, 1]

    def put(self, sums: Tensor) -> tuple[float, Mapping[str, float]]:
        """Take gradients by tables (k,) back to what is trained -> what positives say."""
        *by_tables, value, alignment = torch.split(sums, self.part_widths)
        trained = list(self.shared.values())
        with one_thread():
            found = torch.autograd.grad(
                self.made,
                trained,
                [
                    by.view_as(table).to(table.dtype)
                    for by, table in zip(by_tables, self.made, strict=True)
                ],
                allow_unused=True,
            )
        for parameter, gradient in zip(trained, found, strict=True):
            parameter.grad = torch.zeros_like(parameter) if gradient is None else gradient
        return value.item(), {"alignment": alignment.item()}

"""Encoded: what puts a graph encoder in front of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple, Unpack

import torch
from torch import Tensor, nn

from hale.data.graph import GraphSize
from hale.errors import InputError, SettingsError
from hale.models.base import Model
from hale.models.encoders.base import Encoder
from hale.models.encoders.edges import Ways, both_ways
from hale.models.model_options import Encoding, Options
from hale.models.tables import RelationTable, Table
from hale.models.tucker import start_size


class ComputedTable(Table):
    """A table whose weights are what is trained, and whose rows are computed from all of them."""

    computed = True

    def __init__(self, table: Table, compute: Callable[[], Tensor]) -> None:
        nn.Module.__init__(self)
        self.weight = table.weight
        self.compute = compute

    def rows(self) -> Tensor:
        """All of them."""
        return self.compute()

    def look_up(self, *ids: Tensor) -> tuple[Tensor, ...]:
        """Rows for each of several ids (B,): (B, d) each; the gradient is dense."""
        rows = self.compute()
        return tuple(rows.index_select(0, some) for some in ids)


class ComputedRelations(ComputedTable, RelationTable):
    """The same for the rows of relations."""

    def forward(self, ids: Tensor) -> Tensor:
        """(B,) -> (B, d)."""
        return self.look_up(ids)[0]


class Vectors(NamedTuple):
    """Encoded vectors, and what they were made of."""

    entities: Tensor
    relations: Tensor | None
    made_of: tuple[object, ...]


class Encoded(Model):
    """A model whose entity vectors, and perhaps its relations', an encoder makes of the facts.

        e = encoder(rows, training facts)

    A class takes this one first and its decoder second. Vectors are encoded once a step, since all
    of them depend on all rows, and once for an evaluation: they are held until a weight changes or
    a gradient has passed. Facts come by ``see``, from the train split alone; a run has them in its
    folder, so they are no part of its weights. After ``eval()`` vectors carry no gradient. Heights,
    and what else a row has beside its place, are not encoded.
    """

    encoder_kind: ClassVar[type[Encoder]]

    def __init__(
        self,
        size: GraphSize,
        dim: int,
        *,
        encoding: Encoding = Encoding(),  # noqa: B008
        **options: Unpack[Options],
    ) -> None:
        super().__init__(size, dim, **options)
        kind = self.encoder_kind
        self.encoder = kind(size, dim, encoding, start=start_size(self), dropout=self.dropout)
        self.entity = ComputedTable(self.entity, self._entities)
        if kind.encodes_relations:
            if self.relation_vector is None:
                raise SettingsError(
                    [
                        f"encoder: {kind.name} makes a vector of d numbers for each relation, and "
                        f"{self.name} has no such; take another model or another encoder"
                    ]
                )
            table = getattr(self, self.relation_vector)
            setattr(self, self.relation_vector, ComputedRelations(table, self._relations))
        self.ways: Ways | None = None
        self.held: Vectors | None = None

    def see(self, facts: Tensor) -> None:
        """Take the training facts (n, 3)."""
        self.ways, self.held = both_ways(facts, self.size), None

    def _entities(self) -> Tensor:
        return self.vectors().entities

    def _relations(self) -> Tensor:
        relations = self.vectors().relations
        assert relations is not None
        return relations

    def vectors(self) -> Vectors:
        """The encoded vectors, made anew only where they would be others."""
        tracked = self.training and torch.is_grad_enabled()
        made_of = self._state(tracked)
        if self.held is None or self.held.made_of != made_of:
            if tracked:
                self.held = self._encode(made_of)
                self.held.entities.register_hook(self._passed)  # type: ignore[no-untyped-call]
            else:  # ordinary tensors, to be used under any mode
                with torch.inference_mode(False), torch.no_grad():
                    self.held = self._encode(made_of)
        return self.held

    def _passed(self, _: Tensor) -> None:
        """A gradient came: what it was made by is gone."""
        self.held = None

    def _state(self, tracked: bool) -> tuple[object, ...]:
        """What the vectors depend on: the versions of all weights, which in-place changes count.

        In training the normalisations' running figures change by encoding itself, and play no part.
        """
        tensors: list[Tensor] = [*self.encoder.parameters(), self.entity.weight]
        if self.relation_vector is not None:
            tensors.append(getattr(self, self.relation_vector).weight)
        if not self.training:
            tensors += self.encoder.buffers()
        return tracked, self.training, *((x.data_ptr(), x._version) for x in tensors)

    def _encode(self, made_of: tuple[object, ...]) -> Vectors:
        if self.ways is None:
            raise InputError(
                f"The vectors of {self.name} are computed from the training facts, which this "
                "model was not given: hand them over by model.see(facts)."
            )
        rows, z = self.entity.weight, None
        if self.encoder.encodes_relations:
            assert self.relation_vector is not None
            z = getattr(self, self.relation_vector).weight
        if self.ways[0].relation.device != rows.device:
            self.ways = (self.ways[0].to(rows.device), self.ways[1].to(rows.device))
        x, z = self.encoder(rows[:, : self.dim], z, self.ways)
        beside = rows[:, self.dim :]
        return Vectors(torch.cat((x, beside), dim=1) if beside.shape[1] else x, z, made_of)


def with_encoder(model: type[Model], encoder: type[Encoder]) -> type[Encoded]:
    """The class of a model with an encoder in front, in place of its own if it has one."""
    bases = (model,) if issubclass(model, Encoded) else (Encoded, model)
    made: type[Encoded] = type(model.__name__, bases, {"encoder_kind": encoder})
    return made

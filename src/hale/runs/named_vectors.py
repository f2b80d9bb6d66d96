"""Vectors of a run as NumPy, with their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from hale.data.graph import Graph
from hale.data.names import Names
from hale.data.results import Framed
from hale.data.vocabulary import Vocabulary
from hale.errors import UnknownNameError
from hale.models import Model
from hale.models.tables import RelationTable, Table

Kind = Literal["entity", "relation"]
Floats = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Vectors(Framed):
    """Rows of numbers with names: ``names`` (n,), ``array`` (n, d), which is read-only.

    ``vectors["dog.n.01"]`` is one row (d,), ``vectors[["a", "b"]]`` are some (2, d); a label that
    one entity has alone stands for it.
    """

    names: Names
    array: Floats
    graph: Graph
    table: str
    kind: Kind

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, name: str | list[str]) -> Floats:
        return self.array[self.row(name) if isinstance(name, str) else [*map(self.row, name)]]

    def row(self, name: str) -> int:
        """The row of a name; an unknown one is an error with the nearest names."""
        if self.kind == "entity":
            return self.graph.entity_id(name)
        return Vocabulary(self.names, self.kind).id(name)

    def to_polars(self) -> pl.DataFrame:
        """Columns name and vector, the latter of arrays of d numbers."""
        kind = pl.Float64 if self.array.dtype == np.float64 else pl.Float32
        vector = pl.Series("vector", self.array, dtype=pl.Array(kind, self.array.shape[1]))
        return pl.DataFrame([self.names.column.alias("name"), vector])

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Floats:
        return np.array(self.array, dtype=dtype, copy=copy)  # type: ignore[call-overload, no-any-return]

    def __repr__(self) -> str:
        return f"Vectors({self.table}: {self.array.shape[0]:,} x {self.array.shape[1]})"


def tables_in(model: Model) -> dict[str, Table]:
    """The tables of a model by name, that of the entities first."""
    return {name: table for name, table in model.named_modules() if isinstance(table, Table)}


@torch.inference_mode()
def rows_of(table: Table) -> Floats:
    """What the model computes with: (n, d); the pairs of a rotation have length one."""
    rows = table(torch.arange(len(table.weight), device=table.weight.device))
    found: Floats = rows.detach().cpu().reshape(len(rows), -1).numpy()
    return found


def vectors_of(model: Model, graph: Graph, name: str) -> Vectors:
    """The rows of one table with their names."""
    tables = tables_in(model)
    if name not in tables:
        raise UnknownNameError("table", name, tables)
    is_entity = name == "entity"
    array: Floats = model.entities().detach().cpu().numpy() if is_entity else rows_of(tables[name])
    array.flags.writeable = False  # the entities are those of the model, not a copy
    if not isinstance(tables[name], RelationTable):
        return Vectors(graph.entities.names, array, graph, name, "entity")
    forward = graph.relations.column
    names = Names(pl.concat([forward, forward + "^-1"]))
    return Vectors(names, array, graph, name, "relation")

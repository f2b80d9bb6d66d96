"""The vectors of a run with their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hale.data.graph import Vocabulary
from hale.models.tables import RelationTable
from hale.runs.named_vectors import rows_of, tables_in
from hale.runs.run import Run

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Tables:
    """Everything a model knows, by whom it is about.

    ``entities`` (N, d), with heights (N, d + 1), are what queries are compared with. Relation
    tables have 2R rows: relation r in row r, its reciprocal in row r + R.
    ``of_entities`` and ``others`` hold what else there is (biases, shared weights).
    """

    names: Sequence[str]
    labels: tuple[str | None, ...]
    entities: Floats
    of_entities: Mapping[str, Floats]
    relation_names: tuple[str, ...]
    relations: Mapping[str, Floats]
    others: Mapping[str, Floats]

    @property
    def row_names(self) -> tuple[str, ...]:
        """A name for each of the 2R rows: the reciprocal of ``r`` is ``r^-1``."""
        return (*self.relation_names, *(f"{name}^-1" for name in self.relation_names))

    def shapes(self) -> dict[str, object]:
        """What there is, ready for JSON."""
        return {
            "entities": list(self.entities.shape),
            "of_entities": {name: list(rows.shape) for name, rows in self.of_entities.items()},
            "relations": {name: list(rows.shape) for name, rows in self.relations.items()},
            "others": {name: list(rows.shape) for name, rows in self.others.items()},
        }


@torch.inference_mode()
def tables_of(run: Run) -> Tables:
    """All vectors of a run.

    Rows are what the model computes with: the pairs of a rotation have length one.
    ``free_scale`` is c_r before its softplus, and matters to training only.
    """
    model, graph = run.model, run.graph
    tables = tables_in(model)
    rows = {name: _array(torch.from_numpy(rows_of(table))) for name, table in tables.items()}
    of_tables = {
        f"{name}.{part}" for name, table in tables.items() for part, _ in table.named_parameters()
    }
    relations = {n for n, table in tables.items() if isinstance(table, RelationTable)}
    return Tables(
        names=graph.entities.names,
        labels=_labels(graph.entities, graph.labels),
        entities=_array(model.entities()),
        of_entities={n: rows[n] for n in tables if n not in relations and n != "entity"},
        relation_names=tuple(graph.relations.names),
        relations={n: rows[n] for n in tables if n in relations},
        others={
            name.removesuffix(".weight"): _array(parameter)
            for name, parameter in model.named_parameters()
            if name not in of_tables
        },
    )


def _labels(entities: Vocabulary, labels: Mapping[str, str]) -> tuple[str | None, ...]:
    """A label or None for each entity, without tabs and line breaks."""
    if not labels:
        return (None,) * len(entities)
    found = (labels.get(name) for name in entities.names)
    return tuple(None if label is None else " ".join(label.split()) for label in found)


def _array(tensor: Tensor) -> Floats:
    values: Floats = tensor.detach().float().cpu().numpy()
    return np.ascontiguousarray(values.reshape(-1, 1) if values.ndim < 2 else values)

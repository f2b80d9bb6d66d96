"""Neighbours: the entities nearest to one, by their vectors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, Unpack, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hale.data.keys import Ids
from hale.data.results import Results
from hale.engine import geometry
from hale.engine.topk import merged, merged_over, top
from hale.errors import EvaluationError, InputError, UnknownNameError
from hale.evaluation.limits import Among, entities_among
from hale.evaluation.spans import chunk_size
from hale.runs.run import RunSource, open_run

Metric = Literal["l2", "cosine"]


@dataclass(frozen=True)
class Neighbor:
    """An entity and how far it is: ||x - y||, or 1 - cos(x, y)."""

    rank: int
    entity: str
    label: str | None
    distance: float

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


@torch.inference_mode()
def neighbors(
    run: RunSource, entity: str, *, k: int = 10, metric: Metric = "l2", **among: Unpack[Among]
) -> Results[Neighbor]:
    """The k entities whose vectors are nearest to that of ``entity``, nearest first.

    By the L2 distance ||x - y||, or by the cosine distance 1 - <x, y> / (||x|| ||y||).
    The entity itself is not among them, so there are at most N - 1. ``types``, ``type_relation``
    and ``within`` say among which entities to look (``Among``).
    """
    if k < 1:
        raise InputError(f"The number of neighbours is at least 1, got {k}.")
    if metric not in get_args(Metric):
        raise UnknownNameError("metric", metric, get_args(Metric))
    run = open_run(run)
    graph = run.graph
    itself = graph.entity_id(entity)
    table, dim = run.model.entity, run.model.dim
    chosen = entities_among(graph, **among)
    others = np.arange(len(graph.entities)) if chosen is None else chosen
    others = others[others != itself]
    if not len(others):
        raise InputError(f"There is no entity but {entity!r} itself to look among.")
    vector = table(torch.tensor([itself], device=table.weight.device))[0, :dim]
    held = others[table.span.holds(others)]
    nearest = vector.new_empty(1, 0), torch.empty(1, 0, dtype=torch.long, device=vector.device)
    finite = True
    for first in range(0, len(held), chunk := chunk_size(dim)):
        some = torch.from_numpy(held[first : first + chunk]).to(vector.device)
        distances = distances_to(table.held(some)[:, :dim], vector, metric)
        finite = finite and bool(torch.isfinite(distances).all())
        nearness, places = top(-distances[None], k)
        nearest = merged(nearest, (nearness, some[places]), k)
    if table.group.any(not finite):
        raise EvaluationError("The model holds vectors that are not finite; train it again.")
    nearness, ids = merged_over(table.group, nearest, k)
    found = [
        Neighbor(rank, graph.entities[number], graph.label(graph.entities[number]), -value)
        for rank, (number, value) in enumerate(
            zip(ids[0].tolist(), nearness[0].tolist(), strict=True), start=1
        )
        if value > -np.inf
    ]
    return Results(Neighbor, found)


def distances_to(vectors: Tensor, vector: Tensor, metric: Metric = "l2") -> Tensor:
    """The distance of every row to a vector: (n, d), (d,) -> (n,).

    By differences, a chunk of rows at a time: exact also where vectors nearly meet.
    """
    chunk = chunk_size(vectors.shape[1])
    measure = {"l2": _l2, "cosine": _cosine}[metric]
    return torch.cat([measure(part, vector) for part in torch.split(vectors, chunk)])


def distances_from(vectors: Tensor, rows: Ids, row: int) -> NDArray[np.float32]:
    """The L2 distances of some rows (n,) of vectors (N, d) to one of them: -> (n,)."""
    found = np.empty(len(rows), dtype=np.float32)
    chunk = chunk_size(vectors.shape[1])
    for start in range(0, len(rows), chunk):
        some = torch.tensor(rows[start : start + chunk], device=vectors.device)
        found[start : start + chunk] = _l2(vectors[some], vectors[row]).cpu().numpy()
    return found


def _l2(vectors: Tensor, vector: Tensor) -> Tensor:
    return geometry.squared_distance(vectors, vector).sqrt()


def _cosine(vectors: Tensor, vector: Tensor) -> Tensor:
    return 1 - functional.cosine_similarity(vectors, vector, dim=-1)

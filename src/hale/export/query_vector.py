"""The vector of a question, to be compared with entity vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from hale.errors import InputError
from hale.runs.run import RunSource, open_run

Names = str | Sequence[str]


@torch.inference_mode()
def query_vectors(
    run: RunSource,
    *,
    head: Names | None = None,
    relation: Names | None = None,
    tail: Names | None = None,
) -> NDArray[np.float32]:
    """Query vectors q(h, r) of tails, or q(t, r + R) of heads: (n, d), as wide as the entities'.

    The nearest entity vectors answer the question: score = -||q - e||^2 for
    models that rank by the squared L2 distance, <q, e> for those that rank by
    the inner product. Give one name or as many as there are questions; a single
    relation, or a single entity, goes with all of the others.
    """
    if relation is None or (head is None) == (tail is None):
        raise InputError("A query has a relation and either a head or a tail.")
    run = open_run(run)
    graph = run.graph
    given = head if head is not None else tail
    assert given is not None
    entities = [graph.entity_id(name) for name in _listed(given)]
    back = 0 if tail is None else len(graph.relations)
    relations = [graph.relations.id(name) + back for name in _listed(relation)]
    count = max(len(entities), len(relations))
    if {len(entities), len(relations)} - {1, count}:
        raise InputError(
            f"Give as many relations as entities, or one of them for all: got {len(entities)} "
            f"entities and {len(relations)} relations."
        )
    device = run.model.entities().device
    ids = torch.empty((2, count), dtype=torch.long)
    ids[0], ids[1] = torch.tensor(entities), torch.tensor(relations)
    vectors = run.model.query(*ids.to(device)).float().cpu().numpy()
    found: NDArray[np.float32] = np.ascontiguousarray(vectors)
    return found


def _listed(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names)

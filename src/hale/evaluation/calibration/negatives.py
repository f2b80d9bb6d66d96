"""Corruptions of triples that the graph does not know."""

from __future__ import annotations

import numpy as np

from hale.data.graph import SPLITS, Graph, Ids

TRIES = 100  # draws for one triple before it is given up


def corrupt(graph: Graph, triples: Ids, *, seed: int = 0) -> Ids:
    """One corruption of each triple: (n, 3) -> (at most n, 3).

    Its head or its tail, by a fair coin, makes way for an entity drawn evenly
    from all; a known fact of any split is drawn again. A triple for which
    ``TRIES`` draws in a row are known facts is left out.
    """
    draws = np.random.default_rng(seed)
    known = np.unique(_keys(graph, np.concatenate([graph.split(split) for split in SPLITS])))
    fresh = triples.copy()
    waiting = np.arange(len(triples))
    for _ in range(TRIES):
        if not len(waiting):
            break
        tried = triples[waiting].copy()
        place = 2 * draws.integers(2, size=len(waiting))  # 0: head, 2: tail
        tried[np.arange(len(waiting)), place] = draws.integers(
            len(graph.entities), size=len(waiting)
        )
        fresh[waiting] = tried
        waiting = waiting[np.isin(_keys(graph, tried), known)]
    return np.delete(fresh, waiting, axis=0)


def _keys(graph: Graph, triples: Ids) -> Ids:
    """A number of its own for each triple: (n, 3) -> (n,)."""
    num_entities, num_relations = graph.size
    keys: Ids = (triples[:, 0] * num_relations + triples[:, 1]) * num_entities + triples[:, 2]
    return keys

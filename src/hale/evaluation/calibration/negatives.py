"""Corruptions of triples that the graph does not know."""

from __future__ import annotations

import numpy as np

from hale.data.graph import Graph
from hale.data.keys import Ids, TripleSet

TRIES = 100  # draws for one triple before it is given up


def corrupt(graph: Graph, triples: Ids, *, seed: int = 0) -> Ids:
    """One corruption of each triple: (n, 3) -> (at most n, 3).

    Its head or its tail, by a fair coin, makes way for an entity drawn evenly
    from all; a known fact of any split is drawn again. A triple for which
    ``TRIES`` draws in a row are known facts is left out.
    """
    draws = np.random.default_rng(seed)
    known = TripleSet(graph.triples)
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
        waiting = waiting[known.holds(tried)]
    return np.delete(fresh, waiting, axis=0)

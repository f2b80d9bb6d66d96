"""Validation: how good a model is while it is trained, and whether its last state is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from hale.data.graph import Graph, KnownAnswers
from hale.data.keys import Ids
from hale.engine.randomness import Stream, draw_seed
from hale.evaluation.metrics import Metrics
from hale.evaluation.ranks import filtered_ranks
from hale.models import Model

# A valid split below this many triples is ranked whole; of a larger one so many are drawn.
WHOLE_BELOW = 5000
DRAWN = 2500
# The other triples that judge the last state again, in sizes of the sample.
SECOND_LOOK = 4


class Ranker(Protocol):
    """Ranks the tails of triples by a model."""

    def __call__(self, model: Model, triples: Ids, known: KnownAnswers, /) -> NDArray[np.float64]:
        """(n, 3) -> (n,), without the other known answers."""


class Validation:
    """A sample of the validation triples that ranks a model again and again, and others.

    Both are in both directions: ``sample`` (2 s, 3) with s at most ``size``, ``others`` (2 o, 3)
    with o at most four times that, none of them in the sample. The triples are drawn in one
    order, which no seed changes: all runs on a graph are judged by the same ones, and a smaller
    sample is part of a larger one. Without a size it is the whole split, or 2,500 of it where it
    has 5,000 or more. ``rank`` ranks triples, filtered by what ``known`` makes, or by all that the
    graph knows.
    """

    def __init__(
        self,
        graph: Graph,
        size: int | None = None,
        rank: Ranker | None = None,
        known: Callable[[], KnownAnswers] | None = None,
    ) -> None:
        self.graph = graph
        self._rank = rank
        self._make_known = known
        draws = np.random.default_rng(draw_seed(0, Stream.VALIDATION))
        self._order = draws.permutation(len(graph.valid))
        if size is None:
            size = DRAWN if len(graph.valid) >= WHOLE_BELOW else len(graph.valid)
        self.take(size)

    def rank(self, model: Model, triples: Ids, known: KnownAnswers) -> NDArray[np.float64]:
        """The ranks of triples (n, 3): (n,)."""
        return (self._rank or filtered_ranks)(model, triples, known)

    def take(self, size: int) -> None:
        """Let the sample be the first ``size`` triples of the order, and the others follow it."""
        self.size = min(size, len(self._order))
        self.sample = self._both_ways(0, size)
        self.others = self._both_ways(size, size + SECOND_LOOK * size)

    def _both_ways(self, start: int, end: int) -> Ids:
        """Places of the order, as they lie in the split."""
        chosen = np.sort(self._order[start:end])
        return self.graph.both_directions(self.graph.valid[chosen])

    def looks(self, size: int) -> float:
        """What the second look at a sample of that size costs: how often the sample is ranked."""
        others = min(SECOND_LOOK * size, len(self._order) - size)
        return 2 * others / size

    def seconds_for(self, model: Model, count: int) -> float:
        """How long it takes to rank the first ``count`` triples of the order, both ways."""
        triples, known = self._both_ways(0, count), self.known
        began = time.perf_counter()
        self.rank(model, triples, known)
        return time.perf_counter() - began

    @cached_property
    def known(self) -> KnownAnswers:
        """The answers in all splits, by which ranks are filtered; made on its first use."""
        return self.graph.known_answers if self._make_known is None else self._make_known()

    def metrics(self, model: Model) -> dict[str, float]:
        """The metrics of the sample; none without a valid split, only a look at the scores.

        Scores that are not finite are an EvaluationError.
        """
        if not len(self.sample):
            self.rank(model, self.graph.train[:1], self.known)
            return {}
        return Metrics.of(self.rank(model, self.sample, self.known)).as_dict()

    def prefers_last(
        self, model: Model, last: Mapping[str, Tensor], kept: Mapping[str, Tensor]
    ) -> bool:
        """Whether the weights ``last`` are no worse than those ``kept``, by the other triples.

        The best of many states on a sample is partly the luckiest, and the last one has the
        fall of the learning rate behind it. The model ends with ``last``.
        """
        if not len(self.others):
            return False
        found = []
        for weights in (kept, last):
            model.load_state_dict(weights)
            found.append(Metrics.of(self.rank(model, self.others, self.known)).mrr)
        return found[1] >= found[0]

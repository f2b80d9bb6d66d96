"""Validation: how good a model is while it is trained, and whether its last state is kept."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from torch import Tensor

from hale.data.graph import Graph, KnownAnswers
from hale.engine.randomness import Stream, draw_seed
from hale.evaluation.metrics import Metrics
from hale.evaluation.ranks import filtered_ranks
from hale.models import Model

# The other triples that judge the last state again, in sizes of the sample.
SECOND_LOOK = 4


class Validation:
    """A sample of the validation triples that ranks a model again and again, and others.

    Both are in both directions: ``sample`` (2 s, 3) with s at most ``size``, ``others`` (2 o, 3)
    with o at most four times that, none of them in the sample. Both depend on the seed alone.
    """

    def __init__(self, graph: Graph, size: int, seed: int) -> None:
        self.graph = graph
        draws = np.random.default_rng(draw_seed(seed, Stream.VALIDATION))
        sample = everything = np.arange(len(graph.valid))
        if len(everything) > size:
            sample = np.sort(draws.choice(len(everything), size, replace=False))
        others = draws.permutation(np.setdiff1d(everything, sample))[: SECOND_LOOK * size]
        self.sample = graph.both_directions(graph.valid[sample])
        self.others = graph.both_directions(graph.valid[others])

    @cached_property
    def known(self) -> KnownAnswers:
        """The answers in all splits, by which ranks are filtered; made on its first use."""
        return self.graph.known()

    def metrics(self, model: Model) -> dict[str, float]:
        """The metrics of the sample; none without a valid split, only a look at the scores.

        Scores that are not finite are an EvaluationError.
        """
        if not len(self.sample):
            filtered_ranks(model, self.graph.train[:1], self.known)
            return {}
        return Metrics.of(filtered_ranks(model, self.sample, self.known)).as_dict()

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
            found.append(Metrics.of(filtered_ranks(model, self.others, self.known)).mrr)
        return found[1] >= found[0]

"""Evaluator: every triple of a split, ranked in both directions -> a report."""

from __future__ import annotations

import time
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph, Ids
from hale.errors import InputError, UnknownNameError
from hale.evaluation.gradual import Follow, rank_gradually
from hale.evaluation.metrics import Metrics, Report, Sample
from hale.evaluation.ranks import Ties, filtered_ranks
from hale.models import Model
from hale.runs.run import Run

# Pairs of a query and an entity that a run's last ranking compares unless asked for all: at d = 32
# two cores took ten to twenty seconds for so many.
PAIRS = 50_000_000_000
LEAST_SAMPLE = 1000


def sample_of(graph: Graph, split: str) -> int | None:
    """How many triples of a split are ranked at the end of a run; None where all are."""
    return bounded(len(graph.split(split)), len(graph.entities))


def bounded(count: int, num_entities: int) -> int | None:
    """How many of ``count`` triples are ranked at once among so many entities; None for all."""
    size = max(LEAST_SAMPLE, PAIRS // (2 * max(1, num_entities)))
    return None if count <= size else size


def evaluate(
    run: Run,
    split: str = "test",
    *,
    ties: Ties = "mean",
    sample: int | None = None,
    seconds: float | None = None,
    follow: Follow | None = None,
) -> Report:
    """Rank every triple of a split, filtered by all known triples, and report.

    Each triple asks for its tail and for its head. All entities are candidates,
    except the other known answers (train, valid and test) of the same query. With ``sample`` so
    many triples are ranked, always the same ones; with ``seconds`` as many as that time is enough
    for, of which the report's ``sample`` tells. ``follow`` is called with the triples ranked so
    far and all there are to rank.
    """
    return evaluate_model(
        run.model, run.graph, split, ties=ties, sample=sample, seconds=seconds, follow=follow
    )


def evaluate_model(
    model: Model,
    graph: Graph,
    split: str,
    *,
    ties: Ties = "mean",
    sample: int | None = None,
    seconds: float | None = None,
    follow: Follow | None = None,
) -> Report:
    """The report of a bare model on a graph; see ``evaluate``."""
    triples = graph.split(split)
    if not len(triples):
        raise InputError(
            f"The graph {graph.name!r} has no {split} triples to evaluate on; "
            "give a folder with that split, or a single file with a held-out share."
        )
    if ties not in get_args(Ties):
        raise UnknownNameError("rule for ties", ties, get_args(Ties))
    whole = len(triples)
    begun = time.perf_counter()
    known = graph.known_answers

    def rank(some: Ids) -> NDArray[np.float64]:
        return filtered_ranks(model, graph.both_directions(some), known, ties=ties)

    places, ranks = rank_gradually(rank, triples, most=sample, seconds=seconds, follow=follow)
    triples = triples[places]
    tails, heads = ranks[: len(triples)], ranks[len(triples) :]
    by_relation = {}
    for relation in np.unique(triples[:, 1]):
        mine = triples[:, 1] == relation
        name = graph.relations[int(relation)]
        by_relation[name] = Metrics.of(np.concatenate([tails[mine], heads[mine]]))
    return Report(
        split=split,
        ties=ties,
        overall=Metrics.of(ranks),
        by_direction={"tail": Metrics.of(tails), "head": Metrics.of(heads)},
        by_relation=by_relation,
        seconds=time.perf_counter() - begun,
        sample=None if len(triples) == whole else Sample.of_ranks(ranks, whole),
    )

"""Evaluator: every triple of a split, ranked in both directions -> a report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph, Ids
from hale.data.keys import places_in
from hale.errors import InputError, UnknownNameError
from hale.evaluation.candidate_ranks import ranks_among
from hale.evaluation.candidates import Candidates, TypedCandidates
from hale.evaluation.cardinality_rule import CardinalityRule, rule_of
from hale.evaluation.gradual import Follow, rank_gradually
from hale.evaluation.limits import Among, entities_among, types_of
from hale.evaluation.metrics import Metrics, Report, Sample
from hale.evaluation.ranks import Ties, filtered_ranks
from hale.models import Model
from hale.runs.run import RunSource, open_run

# Pairs of a query and an entity that a run's last ranking compares unless asked for all: at d = 32
# two cores took ten to twenty seconds for so many.
PAIRS = 50_000_000_000
LEAST_SAMPLE = 1000


def sample_of(model: Model, count: int) -> int | None:
    """How many of ``count`` triples are ranked unless all are asked for; None where all are."""
    pairs = PAIRS // model.comparison
    size = max(LEAST_SAMPLE, pairs // (2 * max(1, model.size.num_entities)))
    return None if count <= size else size


def evaluate(
    run: RunSource,
    split: str = "test",
    *,
    ties: Ties = "mean",
    sample: int | None = None,
    seconds: float | None = None,
    follow: Follow | None = None,
    typed: bool = False,
    cardinality: bool | None = None,
    **among: Unpack[Among],
) -> Report:
    """Rank every triple of a split, filtered by all known triples, and report.

    Each triple asks for its tail and for its head. All entities are candidates,
    except the other known answers (train, valid and test) of the same query. With ``sample`` so
    many triples are ranked, always the same ones; with ``seconds`` as many as that time is enough
    for, of which the report's ``sample`` tells. ``follow`` is called with the triples ranked so
    far and all there are to rank.

    With ``typed`` the candidates are the entities of a type that answers on that side of the
    relation have in train, by the graph's types or those of a ``type_relation``; a target that is
    not among them counts as the last of all entities. With ``types`` or ``within`` (``Among``)
    they are those entities, and only queries whose target is one of them are ranked. Such a report
    says so in ``candidates``: its figures are not comparable with the ordinary ones.

    ``cardinality`` ranks by that rule or without it, as the run's settings have it unless told.
    With it the report has the metrics of the vectors alone beside (``vectors_alone``).
    """
    run = open_run(run)
    graph = run.graph
    limited = limits_of(graph, typed=typed, **among)
    return evaluate_model(
        run.model,
        graph,
        split,
        ties=ties,
        sample=sample,
        seconds=seconds,
        follow=follow,
        limited=limited,
        rule=rule_of(run, cardinality=cardinality),
    )


class Limited(NamedTuple):
    """Candidates that are not all entities, what they are called, and whether targets must be."""

    candidates: Candidates
    called: str
    targets_too: bool


def limits_of(graph: Graph, *, typed: bool = False, **among: Unpack[Among]) -> Limited | None:
    """Who is ranked, where that is not all entities; None where it is."""
    if typed:
        if among.get("types") is not None or among.get("within") is not None:
            raise InputError(
                "Typed ranking takes the types of each relation's answers: it goes without a type "
                "(--type, types) and a set (--within, within)."
            )
        types = types_of(graph, among.get("type_relation"))
        by = f" by {among['type_relation']}" if among.get("type_relation") else ""
        return Limited(TypedCandidates(graph, types), f"of the answers' types{by}", False)
    entities = entities_among(graph, **among)
    if entities is None:
        return None
    candidates = Candidates(graph, anything=True, among=entities)
    candidates.loops = np.ones_like(candidates.loops)  # but for the set, ranked as ever
    types_named, within = among.get("types"), among.get("within")
    names = [types_named] if isinstance(types_named, str) else list(types_named or ())
    parts = [f"of type {' or '.join(names)}"] if names else []
    if within is not None:
        where = str(within) if isinstance(within, str | Path) else "a given set"
        parts.append(f"within {where}")
    return Limited(candidates, f"{' and '.join(parts)} ({len(entities):,} entities)", True)


def evaluate_model(
    model: Model,
    graph: Graph,
    split: str,
    *,
    ties: Ties = "mean",
    sample: int | None = None,
    seconds: float | None = None,
    follow: Follow | None = None,
    limited: Limited | None = None,
    rule: CardinalityRule | None = None,
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
    if limited is not None and limited.targets_too and (sample or seconds):
        raise InputError("A sample is drawn of all triples, not of those of a type or a set.")
    begun = time.perf_counter()
    known = graph.known_answers

    def rank_queries(queries: Ids, rule: CardinalityRule | None = None) -> NDArray[np.float64]:
        if limited is None:
            return filtered_ranks(model, queries, known, ties=ties, rule=rule)
        return ranks_among(model, queries, limited.candidates, known, ties=ties, rule=rule)

    plain: list[NDArray[np.float64]] = []  # by the vectors alone, where a rule ranks

    def rank(some: Ids) -> NDArray[np.float64]:
        queries = graph.both_directions(some)
        if rule is not None:
            plain.append(rank_queries(queries).reshape(2, -1))
        return rank_queries(queries, rule)

    missed = 0
    if limited is not None and limited.targets_too:
        asked = _with_targets(graph.both_directions(triples), limited, split)
        ranks = rank_queries(asked, rule)
        alone = ranks if rule is None else rank_queries(asked)
    else:
        agreed = model.entity.group.lead
        places, ranks = rank_gradually(
            rank, triples, most=sample, seconds=seconds, follow=follow, agreed=agreed
        )
        triples = triples[places]
        asked = graph.both_directions(triples)
        alone = np.concatenate(plain, axis=1).reshape(-1) if plain else ranks
    if limited is not None:
        missed = int(np.isinf(ranks).sum())
        ranks, alone = (np.minimum(found, len(graph.entities)) for found in (ranks, alone))
    relations, of_heads = asked[:, 1] % len(graph.relations), asked[:, 1] >= len(graph.relations)
    ways = {"tail": ranks[~of_heads], "head": ranks[of_heads]}
    return Report(
        split=split,
        ties=ties,
        overall=Metrics.of(ranks),
        by_direction={way: Metrics.of(part) for way, part in ways.items() if len(part)},
        by_relation={
            graph.relations[number]: Metrics.of(ranks[relations == number])
            for number in np.unique(relations).tolist()
        },
        seconds=time.perf_counter() - begun,
        sample=None if len(triples) == whole else Sample.of_ranks(ranks, whole),
        candidates=None if limited is None else limited.called,
        missed=missed,
        vectors_alone=None if rule is None else Metrics.of(alone),
    )


def _with_targets(asked: Ids, limited: Limited, split: str) -> Ids:
    """The queries whose answer is one of the limited entities; an error if there is none."""
    among = limited.candidates.among
    assert among is not None
    kept = asked[places_in(among, asked[:, 2]) >= 0]
    if not len(kept):
        raise InputError(
            f"No {split} triple has a head or tail {limited.called}, so there is nothing to rank."
        )
    return kept

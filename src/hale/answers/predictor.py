"""Predictor: the answers that a run gives to queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal, Unpack, get_args

import numpy as np
import torch

from hale.answers.answer import Answer, Answers
from hale.answers.arrays import HEAD, RELATION, TAIL, AnswerArrays
from hale.answers.queries import OPEN, Query, id_parts, query_ids
from hale.answers.scorer import Scorer, Scores
from hale.answers.stream import AnswerStream
from hale.data.graph import SPLITS, Graph, Ids
from hale.errors import InputError, UnknownNameError
from hale.evaluation.calibration import Judge, calibration_of, judge_of, kept_calibration
from hale.evaluation.calibration.listing import Listed, Listing
from hale.evaluation.candidates import Candidates
from hale.evaluation.limits import Limits, candidates_of, refuse_nobody
from hale.runs.run import Run, RunSource, open_run

Known = Literal["mark", "drop"]


def predict(
    run: RunSource,
    *,
    head: str | None = None,
    relation: str | None = None,
    tail: str | None = None,
    k: int = 10,
    known: Known = "mark",
    above: float | None = None,
    **limits: Unpack[Limits],
) -> Answers:
    """The k best tails of (head, relation), heads of (relation, tail) or relations of (head, tail).

    Entities are named by id or by a label that only one of them has. Known facts
    are marked or, with ``known="drop"``, left out. Candidates are the entities that train has on
    that side of the relation, or others of their kind (``Candidates``), and the relations that
    join such entities; with ``anything=True`` all of them. ``types``, ``type_relation`` and
    ``within`` limit them further (``Limits``). More than there are are not to be had.
    Answers have a probability where a calibration is kept with the run; ``above`` keeps those of
    the k that reach one, and calibrates for the moment where none is kept.
    """
    check(k, known, above)
    run = open_run(run)
    asked = np.array([query_ids(run.graph, Query(head, relation, tail))], dtype=np.int64)
    candidates = candidates_of(run.graph, **limits)
    return next(answers_to(run, asked, k=k, known=known, above=above, candidates=candidates))


def predict_many(
    run: RunSource,
    queries: object,
    *,
    k: int = 10,
    known: Known = "mark",
    above: float | None = None,
    **limits: Unpack[Limits],
) -> AnswerStream:
    """The answers to each query (head, relation, tail) with one None, in order; see ``predict``.

    ``queries`` are such tuples, or a frame or file of them (polars, pandas, a path). They are
    answered in chunks as the answers are taken, so memory stays the same however many there are;
    ``predict_many(...).to_polars()`` has all of them as one frame.
    """
    check(k, known, above)
    run = open_run(run)
    sure = _calibration(run, above)
    scorer = Scorer(run, candidates_of(run.graph, **limits))
    parts = (
        (ids, found)
        for ids in id_parts(run.graph, queries, scorer.chunk)
        for found in _find_all(run, ids, scorer, k=k, known=known, above=above, sure=sure)
    )
    return AnswerStream(run.graph, parts, partial(_in_words, run.graph))


def answers_to(
    run: Run,
    queries: Ids,
    *,
    k: int,
    known: Known = "mark",
    above: float | None = None,
    candidates: Candidates | None = None,
) -> Iterator[Answers]:
    """The answers to queries by id (n, 3), OPEN in the place that is asked for."""
    found = find_answers(run, queries, k=k, known=known, above=above, candidates=candidates)
    return _named(run.graph, queries, found)


def _named(graph: Graph, queries: Ids, parts: Iterable[AnswerArrays]) -> Iterator[Answers]:
    """Answers query by query, with names."""
    start = 0
    for found in parts:
        part = queries[start : start + found.num_queries]
        yield from _in_words(graph, part, found)
        start += len(part)


def _in_words(graph: Graph, queries: Ids, found: AnswerArrays) -> Iterator[Answers]:
    """The answers to each of some queries (n, 3)."""
    bounds = np.searchsorted(found.query, np.arange(len(queries) + 1)).tolist()
    for number, query in enumerate(queries):
        rows = range(bounds[number], bounds[number + 1])
        answers = tuple(_answer(graph, found, row) for row in rows)
        yield Answers(*_names(graph, query), answers)


def find_answers(
    run: Run,
    queries: Ids,
    *,
    k: int,
    known: Known = "mark",
    above: float | None = None,
    candidates: Candidates | None = None,
) -> Iterator[AnswerArrays]:
    """The same as arrays, a chunk of queries at a time.

    Candidates that are limited to nobody, for all of the queries, are refused.
    """
    sure = _calibration(run, above)
    scorer = Scorer(run, candidates or Candidates(run.graph))
    asks_head = queries[:, HEAD] == OPEN  # the reciprocal relation asks for heads
    asked = queries[:, RELATION] + asks_head * len(run.graph.relations)
    refuse_nobody(run.graph, scorer.candidates, np.unique(asked[asked >= 0]).tolist())
    return _find_all(run, queries, scorer, k=k, known=known, above=above, sure=sure)


@torch.inference_mode()
def _find_all(
    run: Run,
    queries: Ids,
    scorer: Scorer,
    *,
    k: int,
    known: Known,
    above: float | None,
    sure: Judge | None,
) -> Iterator[AnswerArrays]:
    check(k, known, above)
    for start in range(0, len(queries), scorer.chunk):
        part = queries[start : start + scorer.chunk]
        listing = None if sure is None else _listing(scorer, run.graph, part, k, sure)
        found = _find(scorer, run.graph, part, k, known, listing)
        if sure is not None:
            listed = None
            if listing is not None:
                number = np.cumsum(part[:, RELATION] != OPEN) - 1  # among the queries for entities
                listed = Listed(listing.lists(), number[found.query])
            found = _with_probabilities(found, sure, above, listed)
        yield found


def _calibration(run: Run, above: float | None) -> Judge | None:
    """What gives probabilities: the calibration kept with the run; one made now if it must be."""
    found = kept_calibration(run) if above is None else calibration_of(run)
    return None if found is None else judge_of(run, found)


def _listing(scorer: Scorer, graph: Graph, queries: Ids, k: int, sure: Judge) -> Listing | None:
    """What sees the scores of queries for entities while they are made, for their probabilities.

    None where candidates are others than those that probabilities rest on.
    """
    asked = queries[queries[:, RELATION] != OPEN]
    if scorer.candidates.limited or not len(asked):
        return None
    return sure.listing(*_questions(graph, asked), min(k, len(graph.entities)))


def _with_probabilities(
    found: AnswerArrays, sure: Judge, above: float | None, listed: Listed | None
) -> AnswerArrays:
    """The answers with their probabilities; of a threshold, those that reach it."""
    probability = sure.answers(found.triples, found.place, listed)
    keep = np.flatnonzero(probability >= (0.0 if above is None else above))
    return replace(
        found,
        triples=found.triples[keep],
        place=found.place[keep],
        query=found.query[keep],
        rank=found.rank[keep],
        score=found.score[keep],
        split=found.split[keep],
        probability=probability[keep],
    )


def check(k: int, known: Known = "mark", above: float | None = None) -> None:
    """Refuse what no query can be answered with."""
    if k < 1:
        raise InputError(f"The number of answers is at least 1, got {k}.")
    if known not in get_args(Known):
        raise UnknownNameError("treatment of known facts", known, get_args(Known))
    if above is not None and not 0 <= above <= 1:
        raise InputError(f"A probability lies between 0 and 1, got {above:g}.")


def _find(
    scorer: Scorer, graph: Graph, queries: Ids, k: int, known: Known, listing: Listing | None
) -> AnswerArrays:
    """One chunk: queries for entities in one table of scores, those for relations in another."""
    place = (queries == OPEN).argmax(axis=1)
    parts = []
    for rows, find in (
        (np.flatnonzero(place != RELATION), partial(_find_entities, listing=listing)),
        (np.flatnonzero(place == RELATION), _find_relations),
    ):
        if not len(rows):
            continue
        values, columns = find(scorer, graph, queries[rows], k, known)
        row, rank = np.nonzero(values > -np.inf)
        triples = queries[rows[row]]
        triples[np.arange(len(row)), place[rows[row]]] = columns[row, rank]
        parts.append((rows[row], rank + 1, triples, values[row, rank]))
    query, rank, triples, score = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(query, kind="stable")
    query, triples = query[order], triples[order]
    return AnswerArrays(
        num_queries=len(queries),
        triples=triples,
        place=place[query].astype(np.int8),
        query=query,
        rank=rank[order],
        score=score[order],
        split=graph.split_index.codes(triples),
    )


def _questions(graph: Graph, queries: Ids) -> tuple[Ids, Ids]:
    """What is given in queries for entities, and the relations below 2R: (n, 3) -> (n,), (n,)."""
    asks_head = queries[:, HEAD] == OPEN  # the reciprocal relation asks for heads
    given = np.where(asks_head, queries[:, TAIL], queries[:, HEAD])
    return given, queries[:, RELATION] + asks_head * len(graph.relations)


def _find_entities(
    scorer: Scorer,
    graph: Graph,
    queries: Ids,
    k: int,
    known: Known,
    *,
    listing: Listing | None = None,
) -> tuple[Scores, Ids]:
    given, relations = _questions(graph, queries)
    without = graph.known_answers if known == "drop" else None
    k = min(k, len(graph.entities))
    values = np.full((len(given), k), -np.inf, dtype=np.float32)
    answers = np.zeros((len(given), k), dtype=np.int64)
    for rows, scores, entities in scorer.best_entities(given, relations, k, without, listing):
        found = scores.shape[1]
        values[rows, :found], answers[rows, :found] = scores, entities
    return values, answers


def _find_relations(
    scorer: Scorer, graph: Graph, queries: Ids, k: int, known: Known
) -> tuple[Scores, Ids]:
    heads, tails = queries[:, HEAD], queries[:, TAIL]
    held = np.zeros((len(queries), len(graph.relations)), dtype=bool)
    if known == "drop":
        triples = np.repeat(queries, len(graph.relations), axis=0)
        triples[:, RELATION] = np.tile(np.arange(len(graph.relations)), len(queries))
        held = graph.split_index.codes(triples).reshape(len(queries), -1) >= 0
    return scorer.best(scorer.relations(heads, tails, held), k)


def _names(graph: Graph, query: Ids) -> tuple[str | None, str | None, str | None]:
    head, relation, tail = query.tolist()
    return (
        None if head == OPEN else graph.entities[head],
        None if relation == OPEN else graph.relations[relation],
        None if tail == OPEN else graph.entities[tail],
    )


def _answer(graph: Graph, found: AnswerArrays, row: int) -> Answer:
    place, split = int(found.place[row]), int(found.split[row])
    number = int(found.triples[row, place])
    is_relation = place == RELATION
    name = graph.relations[number] if is_relation else graph.entities[number]
    return Answer(
        rank=int(found.rank[row]),
        name=name,
        label=None if is_relation else graph.label(name),
        score=float(found.score[row]),
        split=None if split < 0 else SPLITS[split],
        kind="relation" if is_relation else "entity",
        probability=None if found.probability is None else float(found.probability[row]),
    )

"""Discover: the most plausible facts that a graph lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import polars as pl
import torch

from hale.answers.arrays import HEAD, RELATION, TABLE_ROWS, TAIL, AnswerArrays, tables
from hale.answers.predictor import check
from hale.answers.scorer import Scorer, Scores
from hale.data.graph import Graph, Ids
from hale.data.results import Results
from hale.engine.device import keep_freed_memory
from hale.evaluation.calibration import kept_calibration
from hale.evaluation.candidates import Candidates
from hale.evaluation.limits import Limits, candidates_of, refuse_nobody
from hale.runs.run import Run, RunSource, open_run

Progress = Callable[[int, int], object]  # queries done, queries in all


@dataclass(frozen=True)
class MissingFact:
    """A fact that the graph lacks and the model finds plausible."""

    rank: int  # among the facts of the relation, or of all relations when none was named
    head: str
    head_label: str | None
    relation: str
    tail: str
    tail_label: str | None
    score: float  # score(h, r, t), of the fact read from head to tail
    probability: float | None = None  # None while the run's scores are not calibrated

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        found = asdict(self)
        if self.probability is None:
            del found["probability"]
        return found


def facts_frame(facts: Sequence[MissingFact]) -> pl.DataFrame:
    """Missing facts as a table, one a row, with the fields of ``MissingFact`` as columns."""
    schema: dict[str, type[pl.DataType]] = {
        **dict.fromkeys(("head", "relation", "tail", "head_label", "tail_label"), pl.String),
        "rank": pl.Int32,
        "score": pl.Float32,
    }
    if any(fact.probability is not None for fact in facts):
        schema["probability"] = pl.Float32
    return pl.DataFrame([fact.as_dict() for fact in facts], schema=schema)


@torch.inference_mode()
def discover(
    run: RunSource,
    relations: Sequence[str] | None = None,
    *,
    k: int = 100,
    progress: Progress | None = None,
    **limits: Unpack[Limits],
) -> Results[MissingFact]:
    """The k missing facts with the highest score(h, r, t): of each relation named, or of all.

    Weighed are the heads that train has on that side of a relation, with the tails that may
    answer (``Candidates``), a block of them at a time; with ``anything=True`` all N * N facts, and
    time grows with N squared. ``types``, ``type_relation`` and ``within`` limit the tails
    (``Limits``). Memory does not grow with N. Known facts of every split are left out, and so are
    facts of an entity with itself where the relation has none. Facts have a probability where a
    calibration is kept with the run. Scores of one relation are comparable; those of different
    relations only roughly, since each has its own scale. Under the cardinality rule a fact stands
    back whose tail answers the relation for another head, or whose head has its value already,
    where training facts say that few have two; scores are the model's still.
    """
    check(k)
    keep_freed_memory()
    run = open_run(run)
    graph = run.graph
    asked = _relation_ids(graph, relations)
    pools = [[number] for number in asked] if relations is not None else [asked]
    work = _Work(run, candidates_of(graph, **limits), asked, progress)
    found = [fact for pool in pools for fact in _best_of(work, pool, k)]
    return Results(MissingFact, found, frame=facts_frame)


@torch.inference_mode()
def discover_each(
    run: RunSource,
    relations: Sequence[str] | None = None,
    *,
    k: int = 10,
    progress: Progress | None = None,
    **limits: Unpack[Limits],
) -> Iterator[pl.DataFrame]:
    """The k best missing answers to every query of the relations named, or of all, as tables.

    Every relation is asked for the tails of the heads that train has on that side, and then for
    the heads of its tails; with ``anything=True`` for those of all entities, 2RN queries.
    Candidates and what is left out are those of ``discover``. The tables
    have the columns of ``AnswerArrays.table`` but 'known', and come one after the other,
    so that memory stays the same however many there are.
    """
    check(k)
    keep_freed_memory()
    run = open_run(run)
    graph = run.graph
    asked = _relation_ids(graph, relations)
    both = [number + turned for number in asked for turned in (0, len(graph.relations))]
    work = _Work(run, candidates_of(graph, **limits), both, progress)
    for table in tables(graph, _find_each(work, both, k)):
        yield table.drop("known")


class _Work:
    """What the queries of all relations share, and how far it has come."""

    def __init__(
        self, run: Run, candidates: Candidates, relations: list[int], progress: Progress | None
    ) -> None:
        self.run, self.graph = run, run.graph
        self.scorer, self.candidates = Scorer(run, candidates), candidates
        self.calibration = kept_calibration(run)
        self.done, self.progress = 0, progress
        self.total = sum(len(self.given(relation)) for relation in relations)
        refuse_nobody(run.graph, candidates, relations)

    def given(self, relation: int) -> Ids:
        """The entities that are asked about, of a relation below 2R."""
        if self.candidates.anything:
            return np.arange(len(self.graph.entities))
        return self.candidates.sides.given(relation)

    def asked(self, queries: int) -> None:
        """So many queries more are answered."""
        self.reach(self.done + queries)

    def reach(self, done: int) -> None:
        """So many are answered in all; those without candidates had no answer to wait for."""
        if done == self.done:
            return
        self.done = done
        if self.progress is not None:
            self.progress(self.done, self.total)


class _Found(NamedTuple):
    """Facts (n, 3): where they stand (n,), and what they score (n,)."""

    standing: Scores
    scores: Scores
    facts: Ids


def _best_of(work: _Work, relations: list[int], k: int) -> Iterator[MissingFact]:
    """The k best missing facts of some relations together, best first."""
    nothing = np.empty(0, dtype=np.float32)
    found = _Found(nothing, nothing, np.empty((0, 3), dtype=np.int64))
    for relation in relations:
        heads = work.given(relation)
        end = work.done + len(heads)
        known = work.graph.known_answers
        for block in work.scorer.blocks(heads, np.full(len(heads), relation), known):
            asked = heads[block.rows]
            values, standing, places = work.scorer.best_facts(block, asked, relation, k)
            rows, columns = np.divmod(places, block.scores.shape[1])
            tails = block.entities.cpu().numpy()[columns]
            fresh = np.stack([asked[rows], np.full(len(rows), relation), tails], axis=1)
            found = _first(
                _Found(
                    np.concatenate([found.standing, standing]),
                    np.concatenate([found.scores, values]),
                    np.concatenate([found.facts, fresh]),
                ),
                k,
            )
            if block.last:
                work.asked(len(block.rows))
        work.reach(end)
    _, scores, facts = _of_all_ranks(work, found, k)
    graph = work.graph
    sure: list[float | None] = [None] * len(facts)
    if work.calibration is not None:
        sure = list(work.calibration.probability_of(work.run, facts))
    for rank, (score, fact) in enumerate(
        zip(scores.tolist(), facts.tolist(), strict=True), start=1
    ):
        head, tail = graph.entities[fact[HEAD]], graph.entities[fact[TAIL]]
        yield MissingFact(
            rank=rank,
            head=head,
            head_label=graph.label(head),
            relation=graph.relations[fact[RELATION]],
            tail=tail,
            tail_label=graph.label(tail),
            score=score,
            probability=None if sure[rank - 1] is None else float(sure[rank - 1] or 0.0),
        )


def _first(found: _Found, k: int) -> _Found:
    """The k that stand best, equal ones by their ids."""
    standing, scores, facts = found
    order = np.lexsort((facts[:, TAIL], facts[:, HEAD], facts[:, RELATION], -standing))[:k]
    return _Found(standing[order], scores[order], facts[order])


def _of_all_ranks(work: _Work, found: _Found, k: int) -> _Found:
    """The k best of what the ranks found that share the entities."""
    group = work.run.model.entity.group
    if group.size == 1:
        return found
    counts = torch.zeros(group.size, dtype=torch.int64)
    counts[group.rank] = len(found.facts)
    counts = group.all_reduce(counts)
    columns = (found.standing[:, None], found.scores[:, None], found.facts)
    table = torch.from_numpy(np.hstack([column.astype(np.float64) for column in columns]))
    every = group.all_gather(table, counts.tolist()).cpu().numpy()  # ids are exact below 2^53
    standing, scores = every[:, :2].astype(np.float32).T
    return _first(_Found(standing, scores, every[:, 2:].astype(np.int64)), k)


def _find_each(work: _Work, relations: list[int], k: int) -> Iterator[AnswerArrays]:
    """The k best missing answers to all queries, as many at a time as fill a table.

    Of the relations, r + R asks for heads. The best of a chunk go straight to their place in it:
    small arrays kept between chunks would pin the memory between which the scores come and go.
    """
    num_entities, num_relations = work.graph.size
    k = min(k, num_entities)
    group = max(1, TABLE_ROWS // k)
    for asked in relations:
        place, relation = (TAIL if asked < num_relations else HEAD), asked % num_relations
        everyone = work.given(asked)
        for start in range(0, len(everyone), group):
            given = everyone[start : start + group]
            values = np.full((len(given), k), -np.inf, dtype=np.float32)
            answers = np.zeros((len(given), k), dtype=np.int64)
            wanted, end = np.full(len(given), asked), work.done + len(given)
            found = work.scorer.best_entities(given, wanted, k, work.graph.known_answers)
            for rows, scores, entities in found:
                width = scores.shape[1]
                values[rows, :width], answers[rows, :width] = scores, entities
                work.asked(len(scores))
            work.reach(end)
            row, rank = np.nonzero(values > -np.inf)
            triples = np.empty((len(row), 3), dtype=np.int64)
            triples[:, 2 - place] = given[row]
            triples[:, RELATION] = relation
            triples[:, place] = answers[row, rank]
            yield AnswerArrays(
                num_queries=len(given),
                triples=triples,
                place=np.full(len(row), place, dtype=np.int8),
                query=row,
                rank=rank + 1,
                score=values[row, rank],
                split=np.full(len(row), -1, dtype=np.int8),
            )


def _relation_ids(graph: Graph, relations: Sequence[str] | None) -> list[int]:
    names = graph.relations.names if relations is None else relations
    return list(dict.fromkeys(graph.relations.id(name) for name in names))

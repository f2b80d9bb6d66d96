"""Answers as arrays, and as a table with names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hale.data.graph import SPLITS, Graph, Ids
from hale.data.keys import Codes

PLACES = ("head", "relation", "tail")
HEAD, RELATION, TAIL = range(3)

# Answers to a table: enough that the cost of making one does not count.
TABLE_ROWS = 1 << 17


@dataclass(frozen=True)
class AnswerArrays:
    """Answers, one a row, by query and within a query best first.

    ``triples`` (n, 3) are the queries with their answers put in; ``place`` (n,)
    tells which of the three was asked for, ``query`` (n,) which query of
    ``num_queries`` it was; one without answers has no row.
    ``split`` (n,) is a place in SPLITS, or -1 for a fact that the graph lacks;
    ``probability`` (n,) is there where the run's scores are calibrated.
    """

    num_queries: int
    triples: Ids
    place: Codes
    query: Ids
    rank: Ids
    score: NDArray[np.float32]
    split: Codes
    probability: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.triples)

    def table(self, graph: Graph) -> pl.DataFrame:
        """Names and, where the graph has them, labels; one row an answer.

        Columns: head, relation, tail, head_label and tail_label (if the graph has
        labels), asked (head, relation or tail), rank, score, probability (if calibrated),
        known (a split or null).
        """
        named = {
            place: _names(graph, place, self.triples[:, number])
            for number, place in enumerate(PLACES)
        }
        labels = {
            f"{place}_label": _labels(graph, self.triples[:, number])
            for number, place in ((HEAD, "head"), (TAIL, "tail"))
            if graph.labels
        }
        sure = {} if self.probability is None else {"probability": pl.Series(self.probability)}
        return pl.DataFrame(
            {
                **named,
                **labels,
                "asked": pl.Series(PLACES).gather(self.place),
                "rank": pl.Series(self.rank.astype(np.int32)),
                "score": pl.Series(self.score),
                **sure,
                "known": pl.Series([*SPLITS, None]).gather(self.split % (len(SPLITS) + 1)),
            }
        )


def tables(graph: Graph, parts: Iterable[AnswerArrays]) -> Iterator[pl.DataFrame]:
    """Tables of about TABLE_ROWS answers each, at least one."""
    waiting: list[AnswerArrays] = []
    written = False
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= TABLE_ROWS:
            yield joined(waiting).table(graph)
            waiting, written = [], True
    if waiting or not written:
        yield joined(waiting or [NOTHING]).table(graph)


def joined(parts: Sequence[AnswerArrays]) -> AnswerArrays:
    """Parts one after the other as one, their queries numbered through; at least one."""
    sure = [part.probability for part in parts if part.probability is not None]
    before = np.cumsum([0, *(part.num_queries for part in parts)])
    return AnswerArrays(
        num_queries=int(before[-1]),
        triples=np.concatenate([part.triples for part in parts]),
        place=np.concatenate([part.place for part in parts]),
        query=np.concatenate(
            [part.query + first for part, first in zip(parts, before, strict=False)]
        ),
        rank=np.concatenate([part.rank for part in parts]),
        score=np.concatenate([part.score for part in parts]),
        split=np.concatenate([part.split for part in parts]),
        probability=None if len(sure) < len(parts) else np.concatenate(sure),
    )


NOTHING = AnswerArrays(
    num_queries=0,
    triples=np.empty((0, 3), dtype=np.int64),
    place=np.empty(0, dtype=np.int8),
    query=np.empty(0, dtype=np.int64),
    rank=np.empty(0, dtype=np.int64),
    score=np.empty(0, dtype=np.float32),
    split=np.empty(0, dtype=np.int8),
)


def _names(graph: Graph, place: str, ids: Ids) -> pl.Series:
    """The names of ids (n,); only of those, so that a table costs what it holds."""
    vocabulary = graph.relations if place == "relation" else graph.entities
    return vocabulary.column.gather(ids)


def _labels(graph: Graph, ids: Ids) -> pl.Series:
    some, owner = np.unique(ids, return_inverse=True)
    labels = [graph.label(graph.entities[i]) for i in some.tolist()]
    return pl.Series(labels, dtype=pl.String).gather(owner)

"""Answers to many queries, one after the other or as one frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import polars as pl

from hale.answers.answer import Answers
from hale.answers.arrays import AnswerArrays, tables
from hale.data.graph import Graph, Ids
from hale.data.results import Framed
from hale.errors import InputError

Part = tuple[Ids, AnswerArrays]  # queries (n, 3) and what was found for them


class AnswerStream(Framed, Iterator[Answers]):
    """The answers to queries in their order, made as they are taken: memory stays the same.

    ``to_polars`` makes one frame of all, a row an answer; once some are taken it is refused.
    """

    def __init__(
        self,
        graph: Graph,
        parts: Iterable[Part],
        answers: Callable[[Ids, AnswerArrays], Iterator[Answers]],
    ) -> None:
        self._graph, self._parts = graph, iter(parts)
        self._answers = chain.from_iterable(answers(*part) for part in self._parts)
        self._begun = False

    def __next__(self) -> Answers:
        self._begun = True
        return next(self._answers)

    def to_polars(self) -> pl.DataFrame:
        """One frame, with the columns of ``AnswerArrays.table``."""
        if self._begun:
            raise InputError("Some answers were taken already; ask again for a frame of all.")
        self._begun = True
        return pl.concat(tables(self._graph, (found for _, found in self._parts)))

    def __repr__(self) -> str:
        return "AnswerStream: iterate over it, or to_polars()"

    def _repr_html_(self) -> None:
        """To look at it would take the answers."""

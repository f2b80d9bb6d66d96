"""Classifier: true or false, and how sure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hale.data.graph import SPLITS, Graph, Ids, Split
from hale.data.keys import Codes
from hale.data.results import Framed
from hale.data.sources.labelled import triples_of
from hale.errors import InputError
from hale.evaluation.calibration import Calibration, calibration_of, judge_of
from hale.evaluation.reliability import Quality
from hale.runs.run import RunSource, open_run


@dataclass(frozen=True)
class Verdict:
    """What a run makes of one triple."""

    head: str
    relation: str
    tail: str
    verdict: bool
    probability: float
    score: float
    threshold: float | None  # of the score, where negatives were given; else p of one half decides
    known: Split | None = None  # that holds the triple


@dataclass(frozen=True, eq=False, repr=False)
class Verdicts(Framed, Sequence[Verdict]):
    """What a run makes of triples, in their order; as arrays, and one by one."""

    graph: Graph
    triples: Ids  # (n, 3)
    scores: NDArray[np.float64]  # (n,)
    probabilities: NDArray[np.float64]  # (n,)
    true: NDArray[np.bool_]  # (n,)
    thresholds: NDArray[np.float64] | None = None  # (n,) of the scores, where they decide

    def quality(self, labels: Sequence[bool] | NDArray[np.bool_]) -> Quality:
        """Accuracy, F1 and calibration error against labels (n,)."""
        truth = np.asarray(labels, dtype=bool)
        if truth.shape != (len(self),):
            raise InputError(f"Expected {len(self)} labels, got shape {truth.shape}.")
        return Quality.of(truth, self.true, self.probabilities)

    @cached_property
    def splits(self) -> Codes:
        """Which split holds each triple: a place in SPLITS, or -1: (n,)."""
        return self.graph.split_index.codes(self.triples)

    def __len__(self) -> int:
        return len(self.triples)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        head, relation, tail = self.triples[place].tolist()
        return Verdict(
            head=self.graph.entities[head],
            relation=self.graph.relations[relation],
            tail=self.graph.entities[tail],
            verdict=bool(self.true[place]),
            probability=float(self.probabilities[place]),
            score=float(self.scores[place]),
            known=None if self.splits[place] < 0 else SPLITS[self.splits[place]],
            threshold=None if self.thresholds is None else float(self.thresholds[place]),
        )

    def __iter__(self) -> Iterator[Verdict]:
        return (self[i] for i in range(len(self)))

    def to_polars(self) -> pl.DataFrame:
        """A row a triple, with the labels of head and tail where the graph has any."""
        names, relations = self.graph.entities.column, self.graph.relations.column
        heads, tails = (names.gather(self.triples[:, place]) for place in (0, 2))
        relations = relations.gather(self.triples[:, 1])
        columns: dict[str, Any] = {"head": heads, "relation": relations, "tail": tails}
        if self.graph.labels:
            columns["head_label"] = [self.graph.label(name) for name in heads]
            columns["tail_label"] = [self.graph.label(name) for name in tails]
        columns |= {
            "verdict": self.true,
            "probability": self.probabilities,
            "score": self.scores,
            "known": pl.Series([*SPLITS, None]).gather(self.splits % (len(SPLITS) + 1)),
        }
        if self.thresholds is not None:
            columns["threshold"] = self.thresholds
        return pl.DataFrame(columns, schema_overrides=dict.fromkeys(_LABELS, pl.String))

    def __repr__(self) -> str:
        return f"Verdicts({int(self.true.sum()):,} of {len(self):,} triples true)"

    def as_dicts(self) -> list[dict[str, Any]]:
        """Ready for JSON."""
        return [asdict(verdict) for verdict in self]


_LABELS = ("head_label", "tail_label")


def classify(
    run: RunSource,
    triples: object,
    *,
    calibration: Calibration | None = None,
) -> Verdicts:
    """Judge triples: rows of names (head, relation, tail), a frame or file of them, or ids (n, 3).

    Its probability is that of the calibration: how often answers like it are facts, the triple
    being asked as the question that has fewer answers; or, where negatives were given, what its
    score says against those. It is true if train holds it or its probability is one half or more;
    with negatives, if the score reaches the threshold of its relation, the one that was right most
    often on the validation triples and the negatives (Safavi & Koutra 2020, section 5.2). Without
    ``calibration`` that of the run is taken, or made now on questions.
    """
    run = open_run(run)
    found = calibration or calibration_of(run)
    ids = triples_of(triples, run.graph)
    judged = judge_of(run, found).claims(ids)
    return Verdicts(
        graph=run.graph,
        triples=ids,
        scores=judged.scores,
        probabilities=judged.probabilities,
        true=judged.true,
        thresholds=judged.thresholds,
    )

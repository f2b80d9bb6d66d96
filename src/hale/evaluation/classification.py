"""Classifier: true or false, and how sure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hale.data.graph import Graph, Ids
from hale.data.results import Framed
from hale.data.sources.labelled import triples_of
from hale.errors import InputError
from hale.evaluation.calibration import Calibration, calibration_of, triple_scores
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
    threshold: float


@dataclass(frozen=True, eq=False, repr=False)
class Verdicts(Framed, Sequence[Verdict]):
    """What a run makes of triples, in their order; as arrays, and one by one."""

    graph: Graph
    triples: Ids  # (n, 3)
    scores: NDArray[np.float64]  # (n,)
    probabilities: NDArray[np.float64]  # (n,)
    thresholds: NDArray[np.float64]  # (n,)

    @property
    def true(self) -> NDArray[np.bool_]:
        """Whether each score reaches its relation's threshold: (n,)."""
        return self.scores >= self.thresholds

    def quality(self, labels: Sequence[bool] | NDArray[np.bool_]) -> Quality:
        """Accuracy, F1 and calibration error against labels (n,)."""
        truth = np.asarray(labels, dtype=bool)
        if truth.shape != (len(self),):
            raise InputError(f"Expected {len(self)} labels, got shape {truth.shape}.")
        return Quality.of(truth, self.true, self.probabilities)

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
            verdict=bool(self.scores[place] >= self.thresholds[place]),
            probability=float(self.probabilities[place]),
            score=float(self.scores[place]),
            threshold=float(self.thresholds[place]),
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
            "threshold": self.thresholds,
        }
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

    A triple is true if its score reaches the threshold of its relation, the one
    that was right most often on the validation triples and their negatives
    (Safavi & Koutra 2020, section 5.2). The probability comes from a smooth
    curve, so close to the threshold the two can disagree about one half. Without
    ``calibration`` that of the run is taken, or made now against sampled negatives.
    """
    run = open_run(run)
    found = calibration or calibration_of(run)
    ids = triples_of(triples, run.graph)
    scores = triple_scores(run.model, ids)
    return Verdicts(
        graph=run.graph,
        triples=ids,
        scores=scores,
        probabilities=found.probability(scores, ids[:, 1]),
        thresholds=found.threshold(ids[:, 1]),
    )

"""A curve and a cut for every relation that has the triples for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Ids
from hale.evaluation.calibration.isotonic import Isotonic
from hale.evaluation.calibration.platt import Platt
from hale.evaluation.calibration.threshold import best_threshold

Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]

METHODS: dict[str, type[Platt] | type[Isotonic]] = {"platt": Platt, "isotonic": Isotonic}

# A relation has a fit of its own from this many triples on, true and false together: smoothed
# targets keep so few from saying much. Asking for as many of each kind would leave relations with
# few hard negatives to the global fit.
MINIMUM = 10


@dataclass(frozen=True)
class Fit:
    """How scores become probabilities and verdicts, and how many triples say so."""

    curve: Platt | Isotonic
    threshold: float  # a triple counts as true from this score on
    positives: int
    negatives: int

    @classmethod
    def of(cls, method: str, scores: Floats, labels: Labels) -> Fit:
        """Fit a curve and a cut to scores (n,) and labels (n,)."""
        positives = int(labels.sum())
        curve = METHODS[method].fit(scores, labels)
        return cls(curve, best_threshold(scores, labels), positives, len(labels) - positives)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "positives": self.positives,
            "negatives": self.negatives,
            "threshold": self.threshold,
            "curve": self.curve.as_dict(),
        }

    @classmethod
    def from_dict(cls, method: str, values: dict[str, Any]) -> Fit:
        """Back from ``as_dict``."""
        return cls(
            METHODS[method].from_dict(values["curve"]),
            float(values["threshold"]),
            int(values["positives"]),
            int(values["negatives"]),
        )


@dataclass(frozen=True)
class Fits:
    """One fit for all relations together, and one for each relation that has enough."""

    overall: Fit
    by_relation: Mapping[int, Fit]

    @classmethod
    def of(cls, method: str, scores: Floats, relations: Ids, labels: Labels) -> Fits:
        """Fit scores (n,) of triples with relations (n,) and labels (n,)."""
        by_relation = {}
        for relation in np.unique(relations).tolist():
            mine = relations == relation
            if mine.sum() >= MINIMUM:
                by_relation[relation] = Fit.of(method, scores[mine], labels[mine])
        return cls(Fit.of(method, scores, labels), by_relation)

    def fit(self, relation: int) -> Fit:
        """The relation's own fit, or the overall one."""
        return self.by_relation.get(relation, self.overall)

    def probabilities(self, scores: Floats, relations: Ids) -> Floats:
        """(n,), (n,) -> (n,)."""
        found = np.empty(len(scores))
        for relation in np.unique(relations).tolist():
            mine = relations == relation
            found[mine] = self.fit(relation).curve.probability(scores[mine])
        return found

    def thresholds(self, relations: Ids) -> Floats:
        """(n,) -> (n,)."""
        names, owner = np.unique(relations, return_inverse=True)
        cuts = np.array([self.fit(relation).threshold for relation in names.tolist()])
        return cuts[owner] if len(cuts) else np.empty(0)

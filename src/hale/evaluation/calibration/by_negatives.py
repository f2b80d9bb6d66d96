"""A calibration against negatives that were given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph
from hale.data.keys import Codes, Ids
from hale.errors import InputError
from hale.evaluation.calibration.base import Calibration, Judge, Judgement
from hale.evaluation.calibration.fits import MINIMUM, Fit, Fits
from hale.evaluation.calibration.listing import Listed
from hale.evaluation.calibration.scores import triple_scores
from hale.models.base import LAST
from hale.runs.run import Run

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class ByNegatives(Calibration):
    """Of validation triples and the negatives given, as frequent as they came: the share of true
    ones with this score and relation.

    If the negatives are like the claims that will be judged, that is what is wanted. The score is
    that of ``triple_scores``; a claim is true from the threshold of its relation on.
    """

    kind: ClassVar[str] = "negatives"
    meaning: ClassVar[str] = (
        "p: of validation triples and the negatives given, as many as there were of each, "
        "the share of true ones with this score and relation."
    )
    command: ClassVar[str] = " --negatives FILE"

    method: str
    fits: Fits

    def judge(self, run: Run) -> Judge:
        """Ready to be asked about the run that it was made for."""
        return _ScoreJudge(self.fits, run)

    def as_dict(self, graph: Graph) -> dict[str, Any]:
        """Ready for JSON, with the relations by name."""
        return {
            "kind": self.kind,
            "step": self.step,
            "weights": self.weights,
            "method": self.method,
            "minimum": MINIMUM,
            "overall": self.fits.overall.as_dict(),
            "by_relation": {
                graph.relations[relation]: fit.as_dict()
                for relation, fit in self.fits.by_relation.items()
            },
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], graph: Graph) -> ByNegatives:
        """Back from ``as_dict``."""
        method = str(values["method"])
        by_relation = {
            graph.relations.id(name): Fit.from_dict(method, fit)
            for name, fit in values["by_relation"].items()
        }
        return cls(
            step=int(values["step"]),
            weights=str(values["weights"]),
            method=method,
            fits=Fits(Fit.from_dict(method, values["overall"]), by_relation),
        )


@dataclass(frozen=True)
class _ScoreJudge(Judge):
    """By the score alone: an answer is a claim, whatever was asked."""

    fits: Fits
    run: Run

    def answers(
        self,
        triples: Ids,
        asked: Codes,  # noqa: ARG002
        listed: Listed | None = None,  # noqa: ARG002
    ) -> Floats:
        return self.claims(triples).probabilities

    def claims(self, triples: Ids) -> Judgement:
        scores, relations = triple_scores(self.run.model, triples), triples[:, 1]
        cuts = self.fits.thresholds(relations)
        return Judgement(scores, self.fits.probabilities(scores, relations), scores >= cuts, cuts)


def fit_negatives(run: Run, method: str, negatives: Ids) -> Fits:
    """Curves and cuts of the validation triples against negatives (n, 3)."""
    if not len(negatives):
        raise InputError("There are no negatives to calibrate against.")
    triples = np.concatenate([run.graph.valid, negatives])
    labels = np.arange(len(triples)) < len(run.graph.valid)
    scores = triple_scores(run.model, triples)
    told = scores > LAST / 2  # what is ruled out has no score that a curve could be fitted to
    if labels[told].all():
        raise InputError("There are no negatives to calibrate against: all are ruled out.")
    return Fits.of(method, scores[told], triples[told, 1], labels[told])

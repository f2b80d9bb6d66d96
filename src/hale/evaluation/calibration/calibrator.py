"""A run's calibration: made on its validation triples, kept in its folder."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hale.data.graph import Graph, Ids
from hale.data.sources.labelled import triples_of
from hale.errors import InputError, RunError, UnknownNameError
from hale.evaluation.calibration.fits import METHODS, MINIMUM, Fit, Fits
from hale.evaluation.calibration.negatives import corrupt
from hale.evaluation.calibration.scores import triple_scores
from hale.models import Model
from hale.models.base import LAST
from hale.runs.folder import RunFolder
from hale.runs.lock import writing_run
from hale.runs.run import Run, RunSource, open_run

CALIBRATION = "calibration.json"

Floats = NDArray[np.float64]

SAMPLED, GIVEN = "sampled", "given"


@dataclass(frozen=True, repr=False)
class Calibration:
    """How a run's scores become probabilities.

    A probability answers: of true triples and negatives as likely as in the data
    that were fitted (one to one, unless negatives were given otherwise), which
    share with this score is true? Against sampled negatives it tells facts from
    random corruptions, most of them absurd; so it is too sure of itself where the
    alternatives are plausible. Negatives that look like those to be judged make
    it mean what is wanted.
    """

    method: str
    fits: Fits
    negatives: str  # 'sampled' or 'given'
    seed: int | None  # of the sampled ones
    step: int  # the kept step of the run
    weights: str  # fingerprint of the weights that gave the scores

    def probability(self, scores: Floats, relations: Ids) -> Floats:
        """Probabilities of triples with these scores and relations: (n,), (n,) -> (n,).

        The scores are those of ``triple_scores``; relations are below R.
        """
        return self.fits.probabilities(scores, relations)

    def probability_of(self, run: Run, triples: Ids) -> Floats:
        """Probabilities of triples of ids: (n, 3) -> (n,)."""
        return self.probability(triple_scores(run.model, triples), triples[:, 1])

    def threshold(self, relations: Ids) -> Floats:
        """The score from which a triple counts as true: (n,) -> (n,)."""
        return self.fits.thresholds(relations)

    def __repr__(self) -> str:
        return (
            f"Calibration({self.method} against {self.negatives} negatives, of step {self.step}; "
            f"{len(self.fits.by_relation)} relations have a curve of their own)"
        )

    def as_dict(self, graph: Graph) -> dict[str, Any]:
        """Ready for JSON, with the relations by name."""
        return {
            "method": self.method,
            "negatives": self.negatives,
            "seed": self.seed,
            "step": self.step,
            "weights": self.weights,
            "minimum": MINIMUM,
            "overall": self.fits.overall.as_dict(),
            "by_relation": {
                graph.relations[relation]: fit.as_dict()
                for relation, fit in self.fits.by_relation.items()
            },
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], graph: Graph) -> Calibration:
        """Back from ``as_dict``."""
        method = str(values["method"])
        by_relation = {
            graph.relations.id(name): Fit.from_dict(method, fit)
            for name, fit in values["by_relation"].items()
        }
        return cls(
            method=method,
            fits=Fits(Fit.from_dict(method, values["overall"]), by_relation),
            negatives=str(values["negatives"]),
            seed=values["seed"],
            step=int(values["step"]),
            weights=str(values["weights"]),
        )


def calibrate(
    run: RunSource,
    *,
    method: str = "isotonic",
    negatives: object | None = None,
    seed: int = 0,
    save: bool = True,
) -> Calibration:
    """Fit probabilities on the validation triples against negatives, and keep them.

    ``negatives`` are triples known to be false, in the manner of CoDEx: ids (n, 3), rows of names,
    or a frame or file of them; without them each validation triple is corrupted once (``corrupt``).
    A relation with fewer than MINIMUM = 10 triples, both kinds together, is judged
    by the fit of all relations. A run in a folder keeps the calibration
    there, in calibration.json, unless ``save`` is off.
    """
    if method not in METHODS:
        raise UnknownNameError("method of calibration", method, METHODS)
    run = open_run(run)
    graph = run.graph
    if not len(graph.valid):
        raise InputError(
            f"The graph {graph.name!r} has no valid triples to calibrate on; train on a folder "
            "with a valid split, or on a single file with a held-out share."
        )
    if negatives is None:
        false = corrupt(graph, graph.valid, seed=seed)
    else:
        false = triples_of(negatives, graph)
    if not len(false):
        raise InputError(
            "There are no negatives to calibrate against"
            + (": every corruption is a known fact." if negatives is None else ".")
        )
    triples = np.concatenate([graph.valid, false])
    labels = np.arange(len(triples)) < len(graph.valid)
    scores = triple_scores(run.model, triples)
    told = scores > LAST / 2  # what is ruled out has no score that a curve could be fitted to
    if labels[told].all():
        raise InputError("There are no negatives to calibrate against: all are ruled out.")
    found = Calibration(
        method=method,
        fits=Fits.of(method, scores[told], triples[told, 1], labels[told]),
        negatives=SAMPLED if negatives is None else GIVEN,
        seed=seed if negatives is None else None,
        step=run.summary.kept_step,
        weights=fingerprint(run.model),
    )
    if save and run.path is not None:
        with writing_run(run.path):
            RunFolder(run.path).check_stamp(run.stamp)
            RunFolder(run.path).write_json(CALIBRATION, found.as_dict(graph))
    return found


def load_calibration(run: RunSource) -> Calibration | None:
    """The calibration kept with a run; None where there is none.

    One that was made for other weights is an error: its probabilities are of
    scores that this model does not give.
    """
    run = open_run(run)
    if run.path is None or not RunFolder(run.path).has(CALIBRATION):
        return None
    folder = RunFolder(run.path)
    values = folder.read_json(CALIBRATION)
    with folder.blaming(CALIBRATION):
        found = Calibration.from_dict(values, run.graph)
    if found.weights != fingerprint(run.model):
        again = " --negatives FILE" if found.negatives == GIVEN else ""
        raise RunError(
            f"{run.path / CALIBRATION} was made for other weights (of step {found.step}; the run "
            f"keeps step {run.summary.kept_step}). Make it again: hale calibrate {run.path}{again}"
        )
    return found


def calibration_of(run: Run) -> Calibration:
    """The calibration kept with a run, or one against sampled negatives, made now.

    What is made now is not written down: asking a question changes no run.
    """
    return load_calibration(run) or calibrate(run, save=False)


def kept_calibration(run: Run) -> Calibration | None:
    """The calibration kept with a run if it fits the weights; None otherwise."""
    try:
        return load_calibration(run)
    except RunError:
        return None


def fingerprint(model: Model) -> str:
    """A short digest of a model's weights: the same for the same numbers."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        numbers = tensor.detach().cpu().contiguous().numpy()
        digest.update(numbers.reshape(-1).view(np.uint8))  # its bytes, without a copy of them
    return digest.hexdigest()[:16]

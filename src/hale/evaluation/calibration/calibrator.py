"""A run's calibration: made on its validation triples, kept in its folder."""

from __future__ import annotations

import hashlib
import warnings
from weakref import WeakKeyDictionary

import numpy as np

from hale.data.sources.labelled import triples_of
from hale.errors import HaleWarning, InputError, RunError, UnknownNameError
from hale.evaluation.calibration.base import Calibration, Judge
from hale.evaluation.calibration.by_negatives import ByNegatives, fit_negatives
from hale.evaluation.calibration.by_questions import ByQuestions, fit_questions
from hale.evaluation.calibration.fits import METHODS
from hale.evaluation.second_opinion import Advised
from hale.models import Model
from hale.runs.file_names import CALIBRATION
from hale.runs.folder import RunFolder
from hale.runs.lock import writing_run
from hale.runs.run import Run, RunSource, open_run

VERSION = 2  # of the file; 1 had none, and meant facts against random corruptions

_DIGESTS: WeakKeyDictionary[Model, tuple[tuple[tuple[int, int], ...], str]] = WeakKeyDictionary()
_MADE: WeakKeyDictionary[Model, Calibration] = WeakKeyDictionary()  # that no folder keeps

KINDS: dict[str, type[ByQuestions] | type[ByNegatives]] = {
    kind.kind: kind for kind in (ByQuestions, ByNegatives)
}


def calibrate(
    run: RunSource,
    *,
    method: str | None = None,
    negatives: object | None = None,
    seed: int = 0,
    save: bool = True,
) -> Calibration:
    """Fit probabilities on the validation triples, and keep them.

    Without ``negatives``, on the answers to their queries, asked in both directions as
    ``predict`` asks, and to as many queries that lack no fact, drawn by ``seed``
    (``ByQuestions``). With ``negatives``, triples known to be false (ids (n, 3), rows of names, or
    a frame or file of them), on the validation triples against those (``ByNegatives``), by
    ``method`` 'isotonic' (default) or 'platt'. A run in a folder keeps the calibration there, in
    calibration.json, unless ``save`` is off.
    """
    if method is not None and method not in METHODS:
        raise UnknownNameError("method of calibration", method, METHODS)
    if seed < 0:
        raise InputError(f"A seed is 0 or more, got {seed}.")
    run = open_run(run)
    if isinstance(run.model, Advised):
        raise InputError("Probabilities are of scores without path rules: ask without them.")
    if method is not None and negatives is None:
        raise InputError(
            f"The method {method!r} is one of curves against negatives: give negatives, or no "
            "method."
        )
    graph = run.graph
    if not len(graph.valid):
        raise InputError(
            f"The graph {graph.name!r} has no valid triples to calibrate on; train on a folder "
            "with a valid split, or on a single file with a held-out share."
        )
    step, weights = run.summary.kept_step, fingerprint(run.model)
    found: Calibration
    if negatives is None:
        fit, reliability = fit_questions(run, seed=seed)
        found = ByQuestions(step, weights, fit, seed, reliability)
    else:
        chosen, false = method or "isotonic", triples_of(negatives, graph)
        found = ByNegatives(step, weights, chosen, fit_negatives(run, chosen, false))
    if save and run.path is not None:
        with writing_run(run.path):
            RunFolder(run.path).check_stamp(run.stamp)
            values = {"version": VERSION, **found.as_dict(graph)}
            RunFolder(run.path).write_json(CALIBRATION, values)
    return found


def load_calibration(run: RunSource) -> Calibration | None:
    """The calibration kept with a run; None where there is none.

    One that was made for other weights is an error: its probabilities are of
    scores that this model does not give. So is one whose probabilities meant something else.
    What was read is held until the file or the weights are others.
    """
    run = open_run(run)
    if run.path is None or not RunFolder(run.path).has(CALIBRATION):
        return None
    folder = RunFolder(run.path)
    about = (run.path / CALIBRATION).stat()
    file = (about.st_ino, about.st_mtime_ns, about.st_size)
    before = run.held.get(CALIBRATION)
    if before is not None and before[0] == file and before[1].weights == fingerprint(run.model):
        held: Calibration = before[1]
        return held
    values = folder.read_json(CALIBRATION, finite=True)
    with folder.blaming(CALIBRATION):
        version = int(values.get("version", 1))
        if version == VERSION:
            found = KINDS[values["kind"]].from_dict(values, run.graph)
            again = found.command
        else:
            again = ByNegatives.command if values.get("negatives") == "given" else ""
    if version != VERSION:
        raise RunError(
            f"{run.path / CALIBRATION} was written by another version of hale, whose "
            f"probabilities mean something else. Make it again: hale calibrate {run.path}{again}"
        )
    if not _fits(found, run):
        raise RunError(
            f"{run.path / CALIBRATION} was made for other weights (of step {found.step}; the run "
            f"keeps step {run.summary.kept_step}). Make it again: hale calibrate {run.path}{again}"
        )
    run.held[CALIBRATION] = file, found
    return found


def judge_of(run: Run, calibration: Calibration) -> Judge:
    """The judge of a calibration, held for the next question: it looks at all of train once."""
    before = run.held.get("judge")
    if before is None or before[0] is not calibration:
        before = run.held["judge"] = calibration, calibration.judge(run)
    found: Judge = before[1]
    return found


def calibration_of(run: Run) -> Calibration:
    """The calibration kept with a run, or one on questions, made now.

    What is made now is not written down: asking a question changes no run. It is held for the
    next question while the model lives. Ranks of a group make none.
    """
    kept = load_calibration(run)
    if kept is not None:
        return kept
    if run.model.entity.group.size > 1:
        raise InputError(
            "Probabilities are fitted by one process, and none are kept with this run. Make them "
            f"first: hale calibrate {run.path}"
        )
    made = _MADE.get(run.model)
    if made is None or made.weights != fingerprint(run.model):
        made = _MADE[run.model] = calibrate(run, save=False)
    return made


def kept_calibration(run: Run) -> Calibration | None:
    """The calibration kept with a run if it fits the weights; None, with a warning, otherwise."""
    try:
        return load_calibration(run)
    except RunError as error:
        warnings.warn(f"no probabilities: {error}", HaleWarning, stacklevel=2)
        return None


def _fits(found: Calibration, run: Run) -> bool:
    """Whether a calibration was made for a run's weights.

    A rank that holds some of them has no digest of all; there the step tells.
    """
    if run.model.entity.group.size > 1:
        return found.step == run.summary.kept_step
    return found.weights == fingerprint(run.model)


def meaning_of(run: Run, *, held: bool = False) -> str:
    """What the probabilities of a run's answers are shares of; if ``held``, facts of train too."""
    kind: type[Calibration] = ByQuestions
    if run.path is not None and RunFolder(run.path).has(CALIBRATION):
        values = RunFolder(run.path).read_json(CALIBRATION)
        with RunFolder(run.path).blaming(CALIBRATION):
            kind = KINDS.get(values.get("kind"), ByQuestions)
    return f"{kind.meaning} {kind.of_train}".strip() if held else kind.meaning


def fingerprint(model: Model) -> str:
    """A short digest of a model's weights: the same for the same numbers.

    It is held until a tensor is written to or another stands in its place.
    """
    tensors = sorted(model.state_dict().items())
    told = not any(tensor.is_inference() for _, tensor in tensors)  # they count no writes
    now = tuple((tensor.data_ptr(), tensor._version) for _, tensor in tensors) if told else ()
    before = _DIGESTS.get(model)
    if told and before is not None and before[0] == now:
        return before[1]
    digest = hashlib.sha256()
    for name, tensor in tensors:
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        numbers = tensor.detach().cpu().contiguous().numpy()
        digest.update(numbers.reshape(-1).view(np.uint8))  # its bytes, without a copy of them
    found = digest.hexdigest()[:16]
    _DIGESTS[model] = now, found
    return found

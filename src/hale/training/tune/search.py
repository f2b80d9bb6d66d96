"""Search: settings tried one after another, on validation triples only, under a budget.

Every trial trains for the same short time and is judged by its best validation MRR; a trial that
lags behind the median of the others at the same moment is given up. The first trial has, as far as
the space reaches, the settings that would be trained without a search; the next ones those of the
strategy's authors, where they are known. Then the best so far is tried with one setting moved a
step up or down from where the search began, what matters most first, so that what gains is
combined; where the number of trials is given, half of the rest are such steps. All others are drawn
from the whole space by what was learnt (TPE). All trials are kept in a journal file, so a search
that was killed goes on, and its best settings are written as a recipe.
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hale.data.files import make_folder, writing_to
from hale.data.graph import Graph
from hale.errors import HaleWarning, InputError, MissingExtraError, TrainingError
from hale.objectives import OBJECTIVES, objective_class
from hale.runs.run import Record
from hale.runs.systems import complete
from hale.settings import Settings
from hale.settings.space import Space
from hale.training.cpu_share import CpuShare
from hale.training.start import check
from hale.training.stopping import Clock
from hale.training.trainer import Trainer
from hale.training.tune.activation_space import Search, check_search, family_space, first_shape
from hale.training.tune.journal import blaming_journal, open_trials
from hale.training.tune.points import (
    as_settings,
    digest_of,
    published_points,
    space_for,
    starting_points,
    suggest,
)
from hale.training.tune.recipe_file import recipe_of

if TYPE_CHECKING:
    import optuna

JOURNAL = "trials.journal"
STEP_OF = "step"  # what a trial keeps of its place among those that are queued
EPOCHS = "epochs"  # and how far it came
SHARE = "cpu_share"  # and how much of its threads' time it had
VALIDATIONS = 6  # of a trial: where it can be given up
STARTUP = 6  # trials before any is given up


@dataclass(frozen=True)
class Tuned:
    """What a search found."""

    strategy: str
    values: Mapping[str, object]  # all settings that differ from the general defaults
    mrr: float  # on the validation sample
    start: float | None  # of the settings that it began with, if that trial was finished
    trials: int
    pruned: int
    seconds: float  # of all trials
    epochs: float  # of the best trial
    cpu_share: float | None = None  # of its threads' time that a trial had, the least


class _Watch:
    """Tells a trial's validations to the search, and gives up where it says so."""

    def __init__(self, trial: optuna.Trial) -> None:
        self.trial = trial
        self.count = 0

    def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
        """Nothing to do."""

    def validated(self, record: Record, *, kept: bool) -> None:  # noqa: ARG002
        """Report the MRR; raise if the trial is to be given up."""
        import optuna

        self.trial.report(record.metrics["mrr"], self.count)
        self.count += 1
        if self.count < VALIDATIONS and self.trial.should_prune():
            raise optuna.TrialPruned


def tune(
    graph: Graph,
    *,
    out: Path,
    budget: float,
    trial_seconds: float = 60.0,
    trials: int | None = None,
    model: str | None = None,
    strategy: str | None = None,
    search: Search = "settings",
    begin: Mapping[str, object] | None = None,
    only: Collection[str] = (),
    announce: Callable[[str], None] | None = None,
    **values: object,
) -> Tuned:
    """Search the settings of a strategy and model until the budget (seconds) is spent.

    With ``trials`` until so many are done, whatever they take (the budget may be infinite).

    ``out`` is the folder of the search; one that is there is gone on with, and what it has spent
    counts. ``values`` stay as they are given; ``begin`` has others that the search begins at, and
    ``only`` the names of those that move, all of the space unless it is given. With
    ``search="activation"`` only the shape and the bounds of an activation are searched, of the
    family that ``activation`` names.
    """
    check_search(search, values.get("activation"))
    if values.get("teacher"):
        raise InputError("Trials have no teachers; leave them out, and give them to hale train.")
    if importlib.util.find_spec("optuna") is None:
        raise MissingExtraError("A search", "tune")
    if not len(graph.valid):
        raise InputError("A search judges by validation triples, and the graph has none.")
    if search == "activation":
        family = str(values.get("activation") or "sigmoid")
        usual = {name: value for name, value in values.items() if name != "activation"}
        before_it = complete(graph, model=model, strategy=strategy, **usual)
        values = {**values, "activation": family}
        shaped = {**values, "shape": first_shape(family, before_it)}
        start = complete(graph, model=model, strategy=strategy, **shaped)
    else:
        start = complete(graph, model=model, strategy=strategy, **{**(begin or {}), **values})
    check(start)
    if budget <= 0 or trial_seconds <= 0:
        raise InputError("A search needs a positive budget and time of a trial.")
    if search == "settings" and not objective_class(start.strategy).space:
        others = [name for name, strategy in OBJECTIVES.items() if strategy.space]
        raise InputError(f"There is no search for {start.strategy}; there is for {others}.")
    with writing_to(out / JOURNAL):
        space = space_for(graph, start)
        if search == "activation":
            space = family_space(graph, start.activation)
        space = tuple(one for one in space if not only or one.name in only)
        moved = {one.name for one in space}
        stays = {name: value for name, value in (begin or {}).items() if name not in moved}
        values = {**stays, **values}
        return _search(graph, start, values, out, budget, trial_seconds, trials, space, announce)


def _search(
    graph: Graph,
    start: Settings,
    values: Mapping[str, object],
    out: Path,
    budget: float,
    trial_seconds: float,
    trials: int | None,
    space: Space,
    announce: Callable[[str], None] | None,
) -> Tuned:
    import optuna

    first, *steps = starting_points(start, space, len(graph.entities), fixed=values.keys())
    known = published_points(start, space, len(graph.entities), fixed=values.keys())
    known = [point for point in known if point != first]
    if trials is not None:
        steps = steps[: math.ceil(max(trials - 1 - len(known), 0) / 2)]
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # it warns of Ctrl-C by a traceback
    make_folder(out)
    storage = open_trials(out / JOURNAL)
    fixed = "".join(
        f"-{name}={value}" for name, value in sorted(values.items()) if value is not None
    )
    system = f"{start.strategy}-{start.model}-{start.dim}"
    beside = objective_class(start.strategy).revision, first, known
    name = f"{graph.name}-{system}-{trial_seconds:g}s-{digest_of(space, *beside)}{fixed}"
    before = {known.study_name: known.n_trials for known in optuna.get_all_study_summaries(storage)}
    study = optuna.create_study(
        study_name=name,
        storage=storage,
        # a search that goes on must not draw what it drew before
        sampler=optuna.samplers.TPESampler(
            seed=before.get(name, 0), multivariate=True, n_startup_trials=STARTUP
        ),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=1),
        direction="maximize",
        load_if_exists=True,
    )

    def objective(trial: optuna.Trial) -> float:
        with blaming_journal(out / JOURNAL):  # which may have queued what does not fit the space
            drawn = suggest(trial, space)
        asked = {
            **drawn,
            **fixed_of(start, values),
            "budget": trial_seconds,
            "validate_every": f"{trial_seconds / VALIDATIONS:g}s",
        }
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HaleWarning)  # a trial may be unwise
                trainer = Trainer(graph, complete(graph, **asked), _Watch(trial), keep="last")
            share = CpuShare()
            try:
                run = trainer.fit()
            finally:  # also of a trial that is given up
                trial.set_user_attr(SHARE, share.of(trainer.settings.threads))
        except TrainingError:  # not finite: as bad as can be
            return 0.0
        if run.summary.stopped_by == "interrupt":
            raise KeyboardInterrupt
        best = max(record.metrics["mrr"] for record in run.history)
        trial.set_user_attr(EPOCHS, run.summary.epochs)
        if announce:
            announce(f"trial {trial.number}: {best:.4f} {trial.params}")
        return best

    states = optuna.trial.TrialState

    def goes_on() -> bool:
        ended = study.get_trials(states=(states.COMPLETE, states.PRUNED))
        return _seconds(study) < budget and (trials is None or len(ended) < trials)

    while goes_on():
        _queue(study, first, known, steps)
        try:
            study.optimize(objective, n_trials=1)
        except AssertionError as error:  # optuna's, in place of what the disk said of its journal
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise
    done = study.get_trials(states=(states.COMPLETE,))
    pruned = study.get_trials(states=(states.PRUNED,))
    if not done:
        raise InputError("No trial was finished; give the search more time.")
    shares = [float(t.user_attrs[SHARE]) for t in (*done, *pruned) if SHARE in t.user_attrs]
    best = complete(graph, **{**as_settings(study.best_params), **fixed_of(start, values)})
    return Tuned(
        strategy=start.strategy,
        values=recipe_of(best, study.best_params.keys()),
        mrr=study.best_value,
        start=next((t.value for t in done if t.user_attrs.get(STEP_OF) == 0), None),
        trials=len(done) + len(pruned),
        pruned=len(pruned),
        seconds=_seconds(study),
        epochs=float(study.best_trial.user_attrs.get(EPOCHS, 0.0)),
        cpu_share=min(shares, default=None),
    )


Point = Mapping[str, object]


def _queue(
    study: optuna.Study, first: Point, known: Sequence[Point], steps: Sequence[Point]
) -> None:
    """Let the next trial have what comes next in the queue; none if all was taken.

    The first and the known ones as they are, then the best so far with the next of the ``steps``
    away from the first. One that was broken off is taken again.
    """
    from optuna.trial import TrialState

    settled = study.get_trials(states=(TrialState.WAITING, TrialState.COMPLETE, TrialState.PRUNED))
    if any(trial.state == TrialState.WAITING for trial in settled):
        return
    taken = {trial.user_attrs.get(STEP_OF) for trial in settled}
    tried = [trial.params for trial in settled]
    best = max(
        (trial for trial in settled if trial.state == TrialState.COMPLETE),
        key=lambda trial: trial.value or 0.0,
        default=None,
    )
    for place, point in enumerate((first, *known, *steps)):
        asked = dict(point)
        if place > len(known) and best is not None:
            moved = {name: value for name, value in point.items() if value != first[name]}
            asked = {**best.params, **moved}
        if place not in taken and asked not in tried:
            study.enqueue_trial(asked, user_attrs={STEP_OF: place})
            return


def _seconds(study: optuna.Study) -> float:
    """What all trials so far have taken, validation included."""
    times = (trial.duration.total_seconds() for trial in study.trials if trial.duration)
    return float(sum(times))


def fixed_of(start: Settings, values: Mapping[str, object]) -> dict[str, object]:
    """What every trial of a search is given."""
    return {**values, "model": start.model, "strategy": start.strategy, "dim": start.dim}

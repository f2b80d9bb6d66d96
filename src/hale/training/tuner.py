"""Tuner: a search over settings, on validation triples only, under a budget (extra 'tune').

Every trial trains for the same short time and is judged by its best validation MRR; a trial that
lags behind the median of the others at the same moment is given up. The first trial has, as far as
the space reaches, the settings that would be trained without a search, the next ones have them with
one moved a step up or down, and those after draw from what was learnt (TPE). All trials are kept in
a journal file, so a search that was killed goes on, and its best settings are written as a recipe.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hale.data.files import write_text
from hale.data.graph import Graph
from hale.errors import InputError, MissingExtraError, TrainingError
from hale.models import model_class
from hale.objectives import objective_class
from hale.runs.run import Record
from hale.runs.systems import check, complete, unused
from hale.settings import Settings, make_settings
from hale.training.stopping import Clock
from hale.training.trainer import Trainer

if TYPE_CHECKING:
    import optuna

JOURNAL = "trials.journal"
SPACE = 7  # of the searched spaces: trials of another one are of no use
VALIDATIONS = 6  # of a trial: where it can be given up
STARTUP = 6  # trials before any is given up
STEP = 0.15  # of a setting's width

# Of a trial, and of whether any relation of the graph runs both ways.
# A trial and the settings beside that matter for this graph and model -> the trial's settings.
Suggest = Callable[["optuna.Trial", Collection[str]], dict[str, object]]
BESIDE = {"gamma_two_way": (3.0, 14.0), "near": (0.0, 0.9)}


def matters(graph: Graph, model: str) -> list[str]:
    """Which of BESIDE make a difference: a bound where relations run both ways, turns to start."""
    here = {
        "gamma_two_way": bool(graph.known("train").two_way.any()),
        "near": model_class(model).takes_near,
    }
    return [name for name in BESIDE if here[name]]


def _hale(trial: optuna.Trial, beside: Collection[str]) -> dict[str, object]:
    batch = trial.suggest_categorical("batch_size", [2048, 4096, 8192, 16384])
    return {
        "batch_size": batch,
        "queries": trial.suggest_categorical("queries", [16, 32, 64, 100, 160]),
        "gamma": trial.suggest_float("gamma", 3.0, 14.0),
        **{name: trial.suggest_float(name, *BESIDE[name]) for name in beside},
        "square": trial.suggest_categorical("square", [False, True]),
        "beta": trial.suggest_float("beta", 1.0, 5.0),
        "weight": trial.suggest_float("weight", 0.05, 2.0, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 0.002, 0.05, log=True),
        "init_scale": trial.suggest_float("init_scale", 0.02, 0.3, log=True),
        "decay": trial.suggest_float("decay", 0.2, 1.0),
        "dropout": trial.suggest_categorical("dropout", [0.0, 0.05, 0.1, 0.2, 0.3]),
    }


def _sampled(trial: optuna.Trial, _: Collection[str]) -> dict[str, object]:
    return {
        "batch_size": trial.suggest_categorical("batch_size", [256, 512, 1024, 2048]),
        "negatives": trial.suggest_categorical("negatives", [50, 128, 256, 512]),
        "margin": trial.suggest_float("margin", 0.0, 9.0),
        "learning_rate": trial.suggest_float("learning_rate", 0.0005, 0.05, log=True),
        "init_scale": trial.suggest_float("init_scale", 0.02, 0.3, log=True),
    }


def _all(trial: optuna.Trial, _: Collection[str]) -> dict[str, object]:
    return {
        "batch_size": trial.suggest_categorical("batch_size", [128, 256, 512, 1024]),
        "learning_rate": trial.suggest_float("learning_rate", 0.0005, 0.05, log=True),
        "init_scale": trial.suggest_float("init_scale", 0.005, 0.3, log=True),
        "dropout": trial.suggest_categorical("dropout", [0.0, 0.1, 0.2, 0.3, 0.5]),
        "penalty": trial.suggest_float("penalty", 1e-5, 0.1, log=True),
    }


SPACES: dict[str, Suggest] = {"hale": _hale, "samneg": _sampled, "advneg": _sampled, "allneg": _all}


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
    model: str | None = None,
    strategy: str | None = None,
    announce: Callable[[str], None] | None = None,
    **values: object,
) -> Tuned:
    """Search the settings of a strategy and model until the budget (seconds) is spent.

    ``out`` is the folder of the search; one that is there is gone on with, and what it has spent
    counts. ``values`` stay as they are given.
    """
    try:
        import optuna
        from optuna.storages.journal import JournalFileBackend
    except ImportError:
        raise MissingExtraError("A search", "tune") from None
    if not len(graph.valid):
        raise InputError("A search judges by validation triples, and the graph has none.")
    start = complete(graph, model=model, strategy=strategy, **values)
    check(start)
    if budget <= 0 or trial_seconds <= 0:
        raise InputError("A search needs a positive budget and time of a trial.")
    if start.strategy not in SPACES:
        raise InputError(f"There is no search for {start.strategy}; there is for {[*SPACES]}.")
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # it warns of Ctrl-C by a traceback
    out.mkdir(parents=True, exist_ok=True)
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(out / JOURNAL)))
    fixed = "".join(
        f"-{name}={value}" for name, value in sorted(values.items()) if value is not None
    )
    name = (
        f"{graph.name}-{start.strategy}-{start.model}-{start.dim}-{trial_seconds:g}s-{SPACE}{fixed}"
    )
    before = {known.study_name: known.n_trials for known in optuna.get_all_study_summaries(storage)}
    study = optuna.create_study(
        study_name=name,
        storage=storage,
        # a search that goes on must not draw what it drew before
        sampler=optuna.samplers.TPESampler(seed=before.get(name, 0), multivariate=True),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=1),
        direction="maximize",
        load_if_exists=True,
    )
    suggest = SPACES[start.strategy]
    beside = matters(graph, start.model)

    def objective(trial: optuna.Trial) -> float:
        asked = {
            **suggest(trial, beside),
            **fixed_of(start, values),
            "budget": trial_seconds,
            "validate_every": f"{trial_seconds / VALIDATIONS:g}s",
        }
        trainer = Trainer(graph, complete(graph, **asked), _Watch(trial), keep="last")
        try:
            run = trainer.fit()
        except TrainingError:  # not finite: as bad as can be
            return 0.0
        if run.summary.stopped_by == "interrupt":
            raise KeyboardInterrupt
        best = max(record.metrics["mrr"] for record in run.history)
        if announce:
            announce(f"trial {trial.number}: {best:.4f} {trial.params}")
        return best

    states = optuna.trial.TrialState
    settled = study.get_trials(states=(states.WAITING, states.COMPLETE, states.PRUNED))
    queued = [trial.system_attrs.get("fixed_params") for trial in settled]
    points = starting_points(start, suggest, beside, fixed=values.keys())
    for point in points:
        if point not in queued:
            study.enqueue_trial(point)
    while _seconds(study) < budget:
        study.optimize(objective, n_trials=1)
    done = study.get_trials(states=(states.COMPLETE,))
    pruned = study.get_trials(states=(states.PRUNED,))
    if not done:
        raise InputError("No trial was finished; give the search more time.")
    best = complete(graph, **{**study.best_params, **fixed_of(start, values)})
    return Tuned(
        strategy=start.strategy,
        values=recipe_of(best, study.best_params.keys()),
        mrr=study.best_value,
        start=next(
            (t.value for t in done if t.system_attrs.get("fixed_params") == points[0]), None
        ),
        trials=len(done) + len(pruned),
        pruned=len(pruned),
        seconds=_seconds(study),
    )


def _seconds(study: optuna.Study) -> float:
    """What all trials so far have taken, validation included."""
    times = (trial.duration.total_seconds() for trial in study.trials if trial.duration)
    return float(sum(times))


def fixed_of(start: Settings, values: Mapping[str, object]) -> dict[str, object]:
    """What every trial of a search is given."""
    return {**values, "model": start.model, "strategy": start.strategy, "dim": start.dim}


NOT_TUNED = {
    *("recipe", "model", "strategy", "dim", "seed", "threads", "device", "precision"),
    *("budget", "epochs", "patience", "validate_every", "validation_sample"),
}


def recipe_of(settings: Settings, searched: Collection[str]) -> dict[str, object]:
    """The settings that a recipe has to name: those searched, and all that are not general.

    A searched one is named even where it is the general default: a strategy, a model or the rest
    of a recipe could have another.
    """
    general = make_settings().model_dump()
    idle = NOT_TUNED | unused(objective_class(settings.strategy))
    return {
        name: value
        for name, value in settings.model_dump(exclude=idle).items()
        if name in searched or (value is not None and value != general[name])
    }


def starting_points(
    start: Settings, suggest: Suggest, beside: Collection[str], *, fixed: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Where a search begins: at what there is already, then a step away from it.

    A step is a factor of two where the space is logarithmic, else STEP of its width, or the next
    choice. What lies outside the space begins at its edge; what is ``fixed`` does not move.
    """
    settings = start.model_dump()
    if start.gamma_two_way is None:  # then one bound serves all relations
        settings["gamma_two_way"] = start.gamma
    first: dict[str, Any] = {}
    steps: list[dict[str, Any]] = []

    class Collect:
        """Asks the space for its names and limits."""

        def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
            value = first[name] = min(max(float(str(settings[name])), low), high)
            far = STEP * (high - low)
            beside = (value / 2, value * 2) if log else (value - far, value + far)
            steps.extend({name: min(max(moved, low), high)} for moved in beside)
            return low

        def suggest_categorical(self, name: str, choices: list[Any]) -> Any:
            if settings[name] is None:
                raise InputError(f"A search moves {name}: leave out what stands in its place.")
            wanted = float(settings[name])
            place = min(range(len(choices)), key=lambda i: abs(choices[i] - wanted))
            first[name] = choices[place]
            steps.extend({name: moved} for moved in choices[max(0, place - 1) : place + 2])
            return choices[0]

    suggest(Collect(), beside)
    points = [{**first, **step} for step in steps if not step.keys() & set(fixed)]
    moved = [point for point in points if point != first]
    order = np.random.default_rng(0).permutation(len(moved))
    return [first, *(moved[i] for i in order)]  # so that a short search has steps of all kinds


def recipe_text(graph: Graph, model: str, tuned: Tuned, how: str) -> str:
    """A recipe's table, as in src/hale/recipes."""
    lines = [f"[{tuned.strategy}.{model}]", f"found = {json.dumps(how)}"]
    for name, value in tuned.values.items():
        shown = f"{value:.4g}" if isinstance(value, float) else json.dumps(value)
        lines.append(f"{name} = {shown}")
    head = [f"entities = {len(graph.entities)}", f"train = {len(graph.train)}", ""]
    return "\n".join([*head, *lines, ""])


def write_recipe(target: Path, text: str) -> None:
    """Write a recipe file, whole or not at all."""
    write_text(target, text)

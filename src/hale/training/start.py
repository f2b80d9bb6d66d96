"""train(): a new run, or one that goes on."""

from __future__ import annotations

from pathlib import Path

from hale.data.datasets.load import open_graph
from hale.data.files import check_writable
from hale.data.graph import Graph, GraphSize
from hale.engine.device import choose_device
from hale.errors import RunError, SettingsError
from hale.runs.folder import RunFolder
from hale.runs.header import SETTINGS
from hale.runs.lock import writing_run
from hale.runs.replacing import is_taken
from hale.runs.run import Run
from hale.runs.systems import build_model, build_objective, complete, given_in
from hale.settings import Settings, by_name
from hale.training import checkpoint
from hale.training.forecast import suited
from hale.training.observer import Observer
from hale.training.teachers import lesson_for
from hale.training.tracking import tracker_class
from hale.training.trainer import Trainer
from hale.training.watching import fit_watched


def train(
    graph: Graph | str | Path | object | None,
    settings: Settings | None = None,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    observer: Observer | None = None,
    progress: bool = False,
    track: str | None = None,
    **values: object,
) -> Run:
    """Train a model on a graph and return the run in the state that validation kept.

    ``graph`` is a Graph, or whatever ``hale.load`` takes: a data set's name, a path, a frame.
    Give ``settings``, or their values by name: ``train(graph, model="rotl",
    dim=32, budget="60s")``; both mean the same, and what is not given is completed as suits the
    strategy, the model, the graph and the time (``suited``). With ``out`` the run lives in that
    folder from the first moment, nobody else may write it meanwhile, and a run that is there is
    replaced only on request (``overwrite=True``). Ctrl-C stops after the step at hand with
    everything saved; ``run.summary.stopped_by`` says so.

    ``resume=True`` goes on with the run in ``out`` after any kind of end, with
    the settings and the graph that it has; those given beside it must agree, but for ``budget``,
    ``epochs``, ``patience`` and ``threads``: another limit extends the run, whose learning rate
    is then what it would be at this point of a run with that limit.

    ``progress=True`` tells on stderr how it goes, also in a notebook. ``track`` writes losses and
    validations where TensorBoard ('tensorboard'), MLflow ('mlflow') or Weights & Biases ('wandb',
    offline) look for them; ``observer`` is told of every step and validation.
    """
    if settings is not None and values:
        raise SettingsError([f"give settings, or their values by name, not both ({[*values]})"])
    given = by_name(values) if settings is None else given_in(settings)
    if track is not None:
        tracker_class(track)  # told before anything is read
    if resume:
        if out is None:
            raise RunError("To resume, name the folder of the run (out).")
        folder = RunFolder(out)
        with writing_run(out):
            beside = None if graph is None else open_graph(graph)
            if folder.has(SETTINGS):
                check_writable(folder.path / SETTINGS)
            known, stored = checkpoint.agreed(folder, beside, given)
            lesson = lesson_for(stored, known, folder)
            trainer = Trainer(known, stored, observer, objective=lesson and lesson.objective)
            trainer.resume(folder)
            return fit_watched(trainer, progress=progress, track=track)
    if graph is None:
        raise SettingsError(["a graph is needed, unless a run is resumed"])
    if not isinstance(graph, Graph):
        check(complete(None, **given))  # faults are told before anything is read or fetched
    facts = open_graph(graph)
    with writing_run(out):
        if out is not None:
            is_taken(out, overwrite=overwrite)  # told before anything is made
        settings = suited(facts, given)
        lesson = lesson_for(settings, facts)
        trainer = Trainer(facts, settings, observer, objective=lesson and lesson.objective)
        if out is not None:
            trainer.begin(out, overwrite=overwrite)
            if lesson is not None:
                lesson.keep(RunFolder(out))
        return fit_watched(trainer, progress=progress, track=track)


def check(settings: Settings) -> None:
    """Refuse names and combinations that do not exist, before a graph is read or fetched."""
    build_objective(settings)
    build_model(settings, GraphSize(1, 1))
    choose_device(settings.device)
    for teacher in settings.teacher:
        RunFolder(teacher).read_settings()

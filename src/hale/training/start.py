"""train(): a new run, or one that goes on."""

from __future__ import annotations

from pathlib import Path

from hale.data.graph import Graph, GraphSize
from hale.engine.device import choose_device
from hale.errors import RunError, SettingsError
from hale.runs.folder import RunFolder
from hale.runs.lock import writing_run
from hale.runs.run import Run
from hale.runs.systems import build_model, build_objective, given_in
from hale.settings import Settings
from hale.training import checkpoint
from hale.training.forecast import suited
from hale.training.observer import Observer
from hale.training.trainer import Trainer


def train(
    graph: Graph | None,
    settings: Settings | None = None,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    observer: Observer | None = None,
    **values: object,
) -> Run:
    """Train a model on a graph and return the run in the state that validation kept.

    Give ``settings``, or their values by name: ``train(graph, model="rotl",
    dim=32, budget="60s")``; both mean the same, and what is not given is completed as suits the
    strategy, the model, the graph and the time (``suited``). With ``out`` the run lives in that
    folder from the first moment, nobody else may write it meanwhile, and a run that is there is
    replaced only on request (``overwrite=True``). Ctrl-C stops after the step at hand with
    everything saved; ``run.summary.stopped_by`` says so.

    ``resume=True`` goes on with the run in ``out`` after any kind of end, with
    the settings and the graph that it has; those given beside it must agree.
    """
    if settings is not None and values:
        raise SettingsError([f"give settings, or their values by name, not both ({[*values]})"])
    given = values if settings is None else given_in(settings)
    if resume:
        if out is None:
            raise RunError("To resume, name the folder of the run (out).")
        folder = RunFolder(out)
        with writing_run(out):
            graph, stored = checkpoint.agreed(folder, graph, given)
            trainer = Trainer(graph, stored, observer)
            trainer.resume(folder)
            return trainer.fit()
    if graph is None:
        raise SettingsError(["a graph is needed, unless a run is resumed"])
    with writing_run(out):
        trainer = Trainer(graph, suited(graph, given), observer)
        if out is not None:
            trainer.begin(out, overwrite=overwrite)
        return trainer.fit()


def check(settings: Settings) -> None:
    """Refuse names and combinations that do not exist, before a graph is read or fetched."""
    build_objective(settings)
    build_model(settings, GraphSize(1, 1))
    choose_device(settings.device)

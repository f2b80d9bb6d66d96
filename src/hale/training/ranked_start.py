"""train_on_ranks(): a run that the ranks of a process group train together."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from hale.data.files import write_json
from hale.data.graph import Graph, GraphSize
from hale.data.known_answers import KnownAnswers
from hale.engine.blank import blank
from hale.engine.group import Group
from hale.engine.shards import Shards
from hale.errors import HaleError, RunError, SettingsError
from hale.objectives.shardwise import shardwise
from hale.runs.file_names import METRICS, RANKS
from hale.runs.folder import RunFolder
from hale.runs.header import SETTINGS
from hale.runs.lock import writing_run
from hale.runs.replacing import is_taken
from hale.runs.run import Run, load_run
from hale.runs.systems import build_model, build_objective, complete
from hale.settings import Settings
from hale.training import checkpoint
from hale.training.extent import Ranked, check_divided
from hale.training.mapped_graph import check_facts, mapped_graph, write_facts
from hale.training.observer import Observer
from hale.training.trainer import Trainer
from hale.training.watching import fit_watched

JOB = "job.json"  # which job of torchrun began the run


def train_on_ranks(
    group: Group,
    load: Callable[[], Graph] | None,
    given: Mapping[str, object],
    *,
    out: str | Path,
    resume: bool = False,
    overwrite: bool = False,
    observer: Observer | None = None,
    track: str | None = None,
) -> Run | None:
    """Train on all ranks of a group -> the run, of whose entities each rank holds its span.

    Nothing comes back where rank 0 met a fault, which it raises.

    All are called with the same. Rank 0 reads the graph (``load``; of a run that is resumed it may
    be None), makes the folder, which all ranks have to see, and prepares what the others map. A
    group that torchrun started again goes on from the last checkpoint, with as many ranks as there
    are now. Steps are not timed before it begins, so the rule does not know how many epochs there
    is time for. Weights are the same whatever their number; they are not to the last bit those of a
    run in one process without ranks, whose step sums in another order.
    """
    folder = RunFolder(out)
    with writing_run(out) if group.leads else nullcontext():
        trainer = begun_on_ranks(
            group,
            load,
            given,
            folder=folder,
            resume=resume,
            overwrite=overwrite,
            observer=observer,
        )
        if trainer is None:
            return None
        return fit_watched(
            trainer, track=track if group.leads else None, fit=lambda: _run(trainer, folder)
        )


def begun_on_ranks(
    group: Group,
    load: Callable[[], Graph] | None,
    given: Mapping[str, object],
    *,
    folder: RunFolder,
    resume: bool = False,
    overwrite: bool = False,
    observer: Observer | None = None,
) -> Trainer | None:
    """The trainer of a run that all ranks begin or resume in a folder; see train_on_ranks."""
    faults: list[HaleError] = []

    def prepare() -> str:
        try:
            return json.dumps(_prepare(group, folder, load, given, resume, overwrite))
        except HaleError as error:
            faults.append(error)
            return "{}"  # so that the others do not wait

    told = json.loads(group.prepared(prepare))
    if faults:
        raise faults[0]
    if not told:  # rank 0 says why
        return None
    settings = Settings.model_validate(told["settings"])
    graph = mapped_graph(folder)
    trainer = Trainer(
        graph, settings, observer if group.leads else None, extent=Ranked(graph, group)
    )
    if told["resumed"]:
        trainer.resume(folder)
    else:
        trainer.keeper.begin(folder, 0.0)
    return trainer


def _prepare(
    group: Group,
    folder: RunFolder,
    load: Callable[[], Graph] | None,
    given: Mapping[str, object],
    resume: bool,
    overwrite: bool,
) -> dict[str, object]:
    """The folder of the run, new or as it was -> its settings, and which."""
    resumed = resume or _is_restarted(folder)
    if resumed:
        if not folder.has(SETTINGS):
            raise RunError(f"{folder.path} is not a run, so it is not resumed. Leave out --resume.")
        beside = None if load is None or not resume else load()
        graph, settings = checkpoint.agreed(folder, beside, given)
        check_facts(folder, graph)
        check_ranked(settings, graph.size)
    else:
        if load is None:
            raise SettingsError(["a graph is needed, unless a run is resumed"])
        is_taken(folder.path, overwrite=overwrite)  # told before anything is read
        graph = load()
        settings = on_cpus(complete(graph, **given))
        Shards(len(graph.entities), group.size)  # refuses too many ranks
        check_ranked(settings, graph.size)

        def fill(fresh: RunFolder) -> None:
            write_facts(fresh, graph)
            write_json(fresh.path / RANKS / JOB, {"id": _job()})

        RunFolder.create(folder.path, settings, graph, None, overwrite=overwrite, fill=fill)
    return {"settings": settings.model_dump(mode="json"), "resumed": resumed}


def on_cpus(settings: Settings) -> Settings:
    """The settings of a run on ranks, which train on CPUs: on GPUs nobody has tried them yet."""
    if settings.device not in ("auto", "cpu"):
        raise SettingsError(
            [f"device: ranks train on the cpu so far, not on {settings.device}; leave it out"]
        )
    return settings.model_copy(update={"device": "cpu"})


def check_ranked(settings: Settings, size: GraphSize) -> None:
    """Refuse what has no step on ranks, before any is started and a folder is made."""
    on_cpus(settings)
    if settings.teacher:
        raise SettingsError(
            ["teacher: what teachers say is not divided among ranks; train without --ranks"]
        )
    nothing = KnownAnswers(np.empty((0, 3), dtype=np.int64), 1)
    shardwise(build_objective(settings), nothing)
    with blank():
        check_divided(build_model(settings, size))


def _is_restarted(folder: RunFolder) -> bool:
    """Whether torchrun started this group again, and the run is the one that it began."""
    place = folder.path / RANKS / JOB
    if not place.is_file():
        return False
    again = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
    if again or _job() is None:
        return again
    with folder.blaming(f"{RANKS}/{JOB}"):
        return bool(json.loads(place.read_text(encoding="utf-8"))["id"] == _job())


def _job() -> str | None:
    """The job that torchrun runs, where it was given a name of its own."""
    name = os.environ.get("TORCHELASTIC_RUN_ID", "none")
    return None if name == "none" else name


def _run(trainer: Trainer, folder: RunFolder) -> Run:
    """Train; in the end the folder has the model whole, and this rank what it holds of it."""
    before, group = replace(trainer.state.clock), trainer.group
    stopped_by = trainer.loop()
    trainer.extent.store.publish(folder)
    clock = trainer.state.clock
    if group.leads:
        folder.write_json(METRICS, {"training": asdict(trainer.summary(stopped_by))})
    group.barrier()
    run = load_run(folder.path, group=group)
    run.took = {
        "train": clock.seconds - before.seconds,
        "validate": clock.validation_seconds - before.validation_seconds,
        "save": trainer.keeper.spent,
    }
    return run

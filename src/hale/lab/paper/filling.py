"""Filling: a cell trained, ranked and written down.

Its training lives in a run folder of its own, so that a killed one goes on where it stopped, with a
note beside of the code that began it; when it is done, the cell's file is written at once and
whole, with the ranks of its triples beside.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hale import __version__
from hale.data.files import make_folder, write_json
from hale.evaluation.cardinality_rule import rule_of
from hale.evaluation.metrics import Metrics
from hale.evaluation.ranking_revision import RANKING_REVISION
from hale.evaluation.ranks import filtered_ranks
from hale.lab.bench.machine import machine
from hale.lab.paper.cells import Cell, Filled, load_quietly, train_alike
from hale.lab.paper.commit import commit_of_code
from hale.lab.paper.rank_files import Floats, Ranks, write_ranks, write_triples
from hale.models import Model, model_class
from hale.objectives import objective_class
from hale.runs.header import SETTINGS
from hale.runs.lock import writing_run
from hale.runs.run import Run, load_run
from hale.runs.score_kind import not_in_nats
from hale.runs.systems import complete
from hale.training.cpu_share import CpuShare
from hale.training.observer import Observer
from hale.training.start import train


class MadeBy(NamedTuple):
    """The code that began a run, on what it was trained, and how much of that it had."""

    revision: int  # of its strategy's loss
    commit: str
    model_revision: int = 1
    cpu_share: float | None = None  # None where it was not trained in one go
    machine: Mapping[str, Any] | None = None  # that ended its training; None while it lasts

    def is_like(self, other: MadeBy) -> bool:
        """Whether both train the same."""
        mine, others = self.revision, other.revision
        return (mine, self.model_revision) == (others, other.model_revision)


def fill(
    cell: Cell,
    *,
    seed: int,
    scale: float,
    folder: Path,
    work: Path,
    observer: Observer | None = None,
) -> Filled | None:
    """Train and evaluate a cell, or go on with it; None if it was interrupted."""
    run, made = trained(cell, seed=seed, scale=scale, work=work, observer=observer)
    if run.summary.stopped_by == "interrupt":
        return None
    found = ranked(run)
    filled = Filled(
        key=cell.key(seed, scale),
        dataset=cell.dataset,
        system=cell.system,
        dim=cell.dim,
        recipe=cell.recipe,
        seed=seed,
        scale=scale,
        full_seconds=cell.seconds,
        version=__version__,
        machine=made.machine or {**machine(), **_load()},
        settings=run.settings.model_dump(mode="json"),
        training=asdict(run.summary),
        curve=[
            {"step": record.step, "seconds": record.seconds, **dict(record.metrics)}
            for record in run.history
        ],
        metrics=_measured(run, found.headline),
        finished=datetime.now(tz=UTC).isoformat(timespec="seconds"),
        commit=made.commit,
        revision=made.revision,
        model_revision=made.model_revision,
        ranking_revision=RANKING_REVISION,
        cpu_share=made.cpu_share,
        plain=_measured(run, found.plain),
        ruled=None if found.ruled is None else _measured(run, found.ruled),
        valid=Metrics.of(found.valid).as_dict(),
        valid_plain=_valid_plain(run),
    )
    make_folder(folder)
    write_ranks(folder, filled.key, found)
    write_triples(folder, cell.dataset, run.graph)
    write_json(folder / f"{filled.key}.json", asdict(filled), indent=1)
    return filled


def ranked(run: Run) -> Ranks:
    """The ranks of a run's triples, by the same rules for every system.

    Whatever a system's own settings say of loops and cardinality, so that no row has what another
    lacks. An entity that is no answer to its own query is so for the relations of which train says
    it (``KnownAnswers.loops``), as under --no-loops.
    """
    graph, known, model = run.graph, run.graph.known_answers, run.model
    queries = graph.both_directions(graph.test)
    with _may_loop(model, None):
        plain = filtered_ranks(model, queries, known)
    loops = torch.from_numpy(graph.known("train").loops)[:, None].to(model.entities().device)
    ruled = None
    with _may_loop(model, loops):
        if not_in_nats(run.settings, model.similarity) is None:
            rule = rule_of(run, cardinality=True)
            ruled = filtered_ranks(model, queries, known, rule=rule)
        return Ranks(
            headline=filtered_ranks(model, queries, known),
            plain=plain,
            ruled=ruled,
            valid=filtered_ranks(model, graph.both_directions(graph.valid), known),
        )


def _valid_plain(run: Run) -> dict[str, float]:
    """Metrics of all validation triples by scores alone."""
    graph = run.graph
    with _may_loop(run.model, None):
        queries = graph.both_directions(graph.valid)
        return Metrics.of(filtered_ranks(run.model, queries, graph.known_answers)).as_dict()


@contextmanager
def _may_loop(model: Model, relations: Tensor | None) -> Iterator[None]:
    """Let the model rank by other relations (2R, 1) that may loop for a while; None for all."""
    before = model.may_loop
    model.may_loop = relations
    try:
        yield
    finally:
        model.may_loop = before


def _measured(run: Run, ranks: Floats) -> dict[str, float]:
    """Metrics of ranks, and the mean rank of a draw by lot among as many candidates."""
    graph = run.graph
    queries = graph.both_directions(graph.test)
    others = graph.known_answers.counts(queries[:, 0], queries[:, 1]) - 1
    by_lot = float((len(graph.entities) - others + 1).mean() / 2)
    return {**Metrics.of(ranks).as_dict(), "mean_rank_by_lot": by_lot}


def _load() -> dict[str, float]:
    """How many processes would have run in the last 15 minutes, as the system has it."""
    return {"load": round(os.getloadavg()[2], 1)} if hasattr(os, "getloadavg") else {}


def trained(
    cell: Cell, *, seed: int, scale: float, work: Path, observer: Observer | None = None
) -> tuple[Run, MadeBy]:
    """The run of a cell: as it lies there, gone on with, or trained anew; and whose it is.

    One that was begun with another form of its loss or its model is trained anew. It goes before
    the note of the new one is written: else, were that broken off there, it would pass for new.
    """
    place = work / cell.key(seed, scale)
    make_folder(work)
    with writing_run(place):
        return _trained(cell, seed, scale, place, observer)


def _trained(
    cell: Cell, seed: int, scale: float, place: Path, observer: Observer | None
) -> tuple[Run, MadeBy]:
    note = place.with_name(f"{place.name}.made.json")
    graph = load_quietly(cell.dataset)
    settings = complete(graph, **cell.settings(seed, scale))
    loss, model = objective_class(settings.strategy), model_class(settings.model)
    now = MadeBy(loss.revision, commit_of_code(), model.revision)
    made = _read_note(note)
    if (place / SETTINGS).is_file() and made is not None and made.is_like(now):
        found = load_run(place)
        if train_alike(found.settings, settings):
            if found.summary.stopped_by not in ("budget", "epochs", "patience"):
                found = train(None, out=place, resume=True, observer=observer)
                made = _ended(note, made, found, None)
            return found, made
    if place.is_dir():  # half of it would be no run, under a note that says it is one
        note.unlink(missing_ok=True)
        shutil.rmtree(place)
    write_json(note, now._asdict())
    share = CpuShare()
    run = train(graph, settings, out=place, overwrite=True, observer=observer)
    return run, _ended(note, now, run, round(share.of(run.summary.threads), 3))


def _ended(note: Path, made: MadeBy, run: Run, share: float | None) -> MadeBy:
    """The note with the machine on which training ended, and its share; as it is otherwise."""
    if run.summary.stopped_by == "interrupt":
        return made
    made = made._replace(cpu_share=share, machine={**machine(), **_load()})
    write_json(note, made._asdict())
    return made


def _read_note(path: Path) -> MadeBy | None:
    """Who began a run; None where nobody knows."""
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        made = int(told["revision"]), str(told["commit"])
        model, share = int(told.get("model_revision", 1)), told.get("cpu_share")
        where: dict[str, Any] | None = told.get("machine")
        return MadeBy(*made, model, None if share is None else float(share), where and dict(where))
    except (OSError, ValueError, TypeError, KeyError):
        return None

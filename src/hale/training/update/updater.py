"""update(): tomorrow's facts for yesterday's run, without starting over.

    read      triples to add and to remove -> the graph after (hale.data.revision)
    grow      known rows keep their place, all scores of known triples stay (grow)
    place     new rows start from the facts that name them (placement)
    train     a short while under the run's own strategy, on new facts mixed with old ones,
              with a penalty on known rows that leave their place (objectives.anchored)
    withdraw  if old validation triples lost more than is allowed, new entities step back
              (withdrawal)
    measure   the run's own test triples before and after

Removed facts leave every split. An entity that loses a share of its facts goes that share of the
way to where the others put it (placement.step_back), so a hub hardly moves, and one that
loses all starts afresh. In training the facts around the removed ones fill a quarter of every
batch, their tails count as wrong answers again, and the entities move without the penalty. What
follows from other facts is still predicted, as it would be by a run that never saw those removed.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hale.data.graph import Graph
from hale.data.keys import Ids, TripleSet
from hale.data.revision import Revision, revise
from hale.data.sources import Triples, read_triples
from hale.engine.device import choose_device, use_threads
from hale.engine.randomness import Stream, generator, seeded
from hale.errors import InputError
from hale.evaluation.metrics import Metrics
from hale.evaluation.ranks import filtered_ranks
from hale.models import Model
from hale.objectives import Anchored
from hale.runs.folder import RunFolder
from hale.runs.lock import writing_run
from hale.runs.run import Run, load_run
from hale.runs.systems import build_model, build_objective
from hale.settings import Settings, make_settings
from hale.training import checkpoint
from hale.training.observer import Observer
from hale.training.trainer import Trainer
from hale.training.update.grow import CHUNK, carry_moments, grow
from hale.training.update.mixture import mixture, rate_factor
from hale.training.update.options import UpdateOptions
from hale.training.update.placement import start_new_rows, step_back
from hale.training.update.withdrawal import sample, withdraw_until

DEFAULT_UPDATE_SECONDS = 30.0


def update(
    run: Run | str | Path,
    add: object | None = None,
    *,
    remove: object | None = None,
    holdout: object = 0.0,
    budget: float | str | None = None,
    epochs: int | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    anchor: float | None = None,
    focus: float | None = None,
    rate: float | None = None,
    tolerance: float | None = None,
    columns: str | None = None,
    header: bool | None = None,
    weights: str | None = None,
    skip_bad: bool = False,
    threads: int | None = None,
    device: str | None = None,
    observer: Observer | None = None,
) -> Run:
    """Add facts to a run and take facts from it, and return the run after.

    ``add`` and ``remove`` are files or tables of triples; names that the run does not know are
    new entities and relations. ``holdout`` is a share of the new facts for each of valid and
    test, or a file or table of facts that join test. Training takes ``budget`` (30 s without
    another limit) or ``epochs``, passes over the new facts. ``anchor``, ``focus``,
    ``rate`` and ``tolerance`` are explained in ``UpdateOptions``. ``weights`` names a column of
    weights of the facts to add; without it they weigh 1.

    The run given is left alone. With ``out`` the new one gets a folder, which appears whole at
    the end; only ``overwrite=True`` replaces a run that is there, which may be the given one.
    ``run.origin`` tells what was done, and the quality on the old test triples before and after.
    """
    if add is None and remove is None:
        raise InputError("Give facts to add, facts to remove, or both.")
    options = UpdateOptions.of(anchor=anchor, focus=focus, rate=rate, tolerance=tolerance)

    def read(source: object | None, what: str) -> Triples | None:
        if source is None:
            return None
        return read_triples(
            source,
            what=what,
            columns=columns,
            header=header,
            weights=weights,
            weights_required=source is add,
            skip_bad=skip_bad,
        )

    with writing_run(out):
        if out is not None:
            RunFolder(out).is_taken(overwrite=overwrite)  # told before anything is trained
        old = run if isinstance(run, Run) else load_run(run, device=device or "auto")
        if out is not None and old.path is not None and Path(out).resolve() == old.path.resolve():
            RunFolder(out).check_stamp(old.stamp)
        settings = _settings(old.settings, budget, epochs, threads, device)
        use_threads(settings.threads)
        revision = revise(
            old.graph,
            read(add, "the table of facts to add"),
            read(remove, "the table of facts to remove"),
            holdout=holdout
            if isinstance(holdout, int | float)
            else read(holdout, "the table of held-out facts") or 0.0,
            seed=settings.seed,
            skip_bad=skip_bad,
        )
        return _train(old, revision, settings, options, out, overwrite, observer)


def _train(
    old: Run,
    revision: Revision,
    settings: Settings,
    options: UpdateOptions,
    out: str | Path | None,
    overwrite: bool,
    observer: Observer | None,
) -> Run:
    before, after = revision.before, revision.after
    removed = TripleSet(revision.removed)
    old_test = before.test[~removed.holds(before.test)]
    judged = {"test": old_test, "removed": revision.removed}
    former = {name: _quality(old.model, before, triples) for name, triples in judged.items()}
    began = time.perf_counter()
    model = grown(old.model, settings, revision)
    moments = checkpoint.moments(RunFolder(old.path)) if old.path else {}
    placed = time.perf_counter() - began

    device = choose_device(settings.device)
    anchors = old.model.entities().detach().to(device)  # nothing moves them: no copy is needed
    # The settings of the run stay as they are, so that updates do not slow each other down.
    schedule = settings.model_copy(
        update={
            "learning_rate": options.rate * rate_factor(revision) * settings.learning_rate,
            "decay": 1.0,
            "gamma_start": None,  # the run has left both starts behind
            "dropout_start": None,
        }
    )
    objective = Anchored(
        build_objective(schedule),
        anchors,
        weight=options.anchor,
        free=torch.tensor(np.unique(revision.removed[:, [0, 2]]), device=device),
    )
    trainer = Trainer(
        after,
        schedule,
        observer,
        start=model.state_dict(),
        moments=carry_moments(moments, model, before.size),
        batches=mixture(revision, settings, options, device),
        objective=objective,
        keep="last",
    )
    del model, moments  # the trainer has its own of both
    run = trainer.fit()
    run.settings = settings

    began = time.perf_counter()
    old_valid = sample(before.valid[~removed.holds(before.valid)], settings.seed)
    valid = _quality(old.model, before, old_valid)
    factor = withdraw_until(
        run.model,
        after,
        old_valid,
        first=len(before.entities),
        least=valid["mrr"] - options.tolerance if valid else 0.0,
    )
    withdrawing = time.perf_counter() - began

    moved = _mean_move(anchors, run.model.entities()[: len(anchors)])
    figures: dict[str, Any] = {
        name: {"before": former[name], "after": _quality(run.model, after, triples)}
        for name, triples in judged.items()
        if len(triples)
    }
    figures["held_out"] = _quality(run.model, after, revision.held_out)
    run.origin = [
        *old.origin,
        {
            "from": str(old.path) if old.path else None,
            "kept_step": old.summary.kept_step,
            "added": len(revision.added),
            "removed": len(revision.removed),
            "held_out": len(revision.held_out),
            "new_entities": revision.new_entities,
            "new_relations": revision.new_relations,
            "notes": list(revision.notes),
            "anchor": options.anchor,
            "focus": options.focus,
            "rate": options.rate,
            "rate_factor": rate_factor(revision),
            "tolerance": options.tolerance,
            "withdrawn_by": factor,
            "placing_seconds": placed,
            "training_seconds": run.summary.seconds,
            "withdrawing_seconds": withdrawing,
            "mean_move_of_known_entities": moved,
            "quality": {name: found for name, found in figures.items() if found},
        },
    ]
    if out is not None:
        trainer.write(run, out, overwrite=overwrite)
    return run


@torch.no_grad()
def _mean_move(before: Tensor, after: Tensor) -> float:
    """The mean of ||e' - e|| over rows (n, d), (n, d), some of them at a time."""
    total = 0.0
    for one, other in zip(torch.split(before, CHUNK), torch.split(after, CHUNK), strict=True):
        total += torch.linalg.vector_norm(other - one, dim=1).double().sum().item()
    return total / max(1, len(before))


def grown(old: Model, settings: Settings, revision: Revision) -> Model:
    """The model of a run for the graph after a change: rows are placed, nothing is trained."""
    after = revision.after
    with seeded(settings.seed, Stream.INIT):
        model = build_model(settings, after.size)
    grow(old, model)
    facts = torch.tensor(after.both_directions(revision.added))
    draws = generator(settings.seed, Stream.PLACE)
    start_new_rows(model, revision.before.size, facts, draws)
    if len(revision.removed):
        removed, left = (
            torch.tensor(after.both_directions(triples))
            for triples in (revision.removed, after.train)
        )
        step_back(model, removed, left, draws)
    return model


def _settings(
    settings: Settings,
    budget: float | str | None,
    epochs: int | None,
    threads: int | None,
    device: str | None,
) -> Settings:
    """The run's settings with the limits of its update."""
    if budget is None and epochs is None:
        budget = DEFAULT_UPDATE_SECONDS
    own = settings.model_dump()
    for name in ("budget", "epochs", "patience", "validate_every"):
        own.pop(name)
    given = {"budget": budget, "epochs": epochs, "threads": threads, "device": device}
    return make_settings(
        **own | {name: value for name, value in given.items() if value is not None}
    )


def _quality(model: Model, graph: Graph, triples: Ids) -> dict[str, Any] | None:
    """Filtered metrics of triples (n, 3) of a graph; None if there are none."""
    if not len(triples):
        return None
    both = graph.both_directions(triples)
    return Metrics.of(filtered_ranks(model.eval(), both, graph.known())).as_dict()

"""update(): tomorrow's facts for yesterday's run, without starting over.

    read      triples to add and to remove -> the graph after (hale.data.revision)
    grow      known rows keep their place, all scores of known triples stay (grow)
    place     new rows start from the facts that name them (placement)
    train     a short while under the run's own strategy, on new facts mixed with old ones,
              with a penalty on known rows that leave their place (objectives.anchored)
    withdraw  if old validation triples lost more than is allowed, new entities step back
              (withdrawal)
    forget    removed facts that rank as if they were known step down (forgetting)
    measure   the run's own test triples before and after (judging)

Removed facts leave every split. An entity that loses a fiftieth of its facts or more is placed
anew from those left (placement.place_anew), and moves without the penalty; tails of removed facts
count as wrong answers again. What training leaves of a removed fact goes at the end: it ranks no
better than validation facts of its relation do (forgetting).
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from hale.data.revision import Revision, revise
from hale.data.sources import Triples, read_triples
from hale.engine.device import choose_device, use_threads
from hale.engine.randomness import Stream, generator, seeded
from hale.errors import HaleWarning, InputError
from hale.models import Model
from hale.objectives import Anchored, Criterion
from hale.runs.folder import RunFolder
from hale.runs.lock import writing_run
from hale.runs.replacing import is_taken
from hale.runs.run import Run, load_run
from hale.runs.systems import build_model, build_objective
from hale.settings import Settings, make_settings
from hale.training import checkpoint
from hale.training.observer import Observer, tell
from hale.training.stopwatch import Stopwatch
from hale.training.trainer import Trainer
from hale.training.update.forgetting import forget_removed, notes_on
from hale.training.update.grow import CHUNK, carry_moments, check_growth, grow
from hale.training.update.judging import Judge
from hale.training.update.mixture import mixture, rate_factor
from hale.training.update.options import UpdateOptions
from hale.training.update.placement import displaced, place_anew, start_new_rows
from hale.training.update.withdrawal import withdraw_until
from hale.training.watching import with_progress

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
    full_evaluation: bool = False,
    copy_unchanged: bool = True,
    observer: Observer | None = None,
    progress: bool = False,
) -> Run:
    """Add facts to a run and take facts from it, and return the run after.

    ``add`` and ``remove`` are files or tables of triples; names that the run does not know are
    new entities and relations. ``holdout`` is a share of the new facts for each of valid and
    test, or a file or table of facts that join test. Training takes ``budget`` (30 s without
    another limit) or ``epochs``, passes over the new facts. ``anchor``, ``focus``, ``rate`` and
    ``tolerance`` are explained in ``UpdateOptions``; ``weights`` names a column of the new facts.

    The run given is left alone. With ``out`` the new one gets a folder, which appears whole at
    the end; only ``overwrite=True`` replaces a run that is there, which may be the given one.
    ``run.origin`` tells what was done, and the quality on the old test triples before and after:
    under a budget of as many of them as a tenth of it is enough for, or of all with
    ``full_evaluation``.

    Where the graph has all the facts already and none is to go, nothing is trained: that is warned
    of, the run is returned as it is, and ``out`` gets a copy, unless ``copy_unchanged`` is off.
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
            is_taken(out, overwrite=overwrite)  # told before anything is trained
        began = time.perf_counter()
        tell(observer, "loading")
        old = run if isinstance(run, Run) else load_run(run, device=device or "auto")
        if out is not None and old.path is not None and Path(out).resolve() == old.path.resolve():
            RunFolder(out).check_stamp(old.stamp)
        check_growth(old.model)
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
        loading = time.perf_counter() - began
        if revision.is_empty:
            warnings.warn(
                "nothing to update: the graph has all these facts, and none of it is to go; the "
                "run stays as it is",
                HaleWarning,
                stacklevel=2,
            )
            same = replace(old, took={"load": loading})
            here = old.path is not None and old.path.resolve() == Path(out or "").resolve()
            if out is not None and copy_unchanged and not here:
                old.save(out, overwrite=overwrite)
                same.path, same.stamp = Path(out), RunFolder(out).stamp()
            return same
        for note in notes_on(revision):  # told before anything is trained
            warnings.warn(note, HaleWarning, stacklevel=2)
        watching = with_progress(observer, progress)
        judge = Judge(settings, revision, watching, full=full_evaluation)
        new = _train(old, revision, settings, options, judge, out, overwrite, watching)
        new.took = {"load": loading, **new.took}
        return new


def _train(
    old: Run,
    revision: Revision,
    settings: Settings,
    options: UpdateOptions,
    judge: Judge,
    out: str | Path | None,
    overwrite: bool,
    observer: Observer | None,
) -> Run:
    before, after = revision.before, revision.after
    watch = Stopwatch()
    judged = judge.choose(old.model, revision)
    watch.lap("evaluate")
    tell(observer, "placing what is new")
    model = grown(old.model, settings, revision)
    moments = checkpoint.moments(RunFolder(old.path)) if old.path else {}
    placed = watch.lap("place")

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
    objective: Criterion = Anchored(
        build_objective(schedule),
        anchors,
        weight=options.anchor,
        free=torch.tensor(displaced(revision), device=device),
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
    watch.skip()

    tell(observer, "withdrawing new entities")
    factor = withdraw_until(
        run.model,
        after,
        judged.old_valid,
        first=len(before.entities),
        least=judged.valid_mrr - options.tolerance,
    )
    withdrawing = watch.lap("withdraw")
    if len(revision.removed):
        tell(observer, "forgetting removed facts")
    forgotten = forget_removed(run.model, revision, settings.seed)
    watch.lap("forget")

    moved = _mean_move(anchors, run.model.entities()[: len(anchors)])
    figures = judge.figures(run.model, revision, judged)
    watch.lap("evaluate")
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
            "notes": notes_on(revision),
            "anchor": options.anchor,
            "focus": options.focus,
            "rate": options.rate,
            "rate_factor": rate_factor(revision),
            "tolerance": options.tolerance,
            "withdrawn_by": factor,
            "forgotten": None if forgotten is None else forgotten._asdict(),
            "placing_seconds": placed,
            "training_seconds": run.summary.seconds,
            "withdrawing_seconds": withdrawing,
            "mean_move_of_known_entities": moved,
            "quality": figures,
        },
    ]
    if out is not None:
        tell(observer, "saving")
        run.save(out, overwrite=overwrite)
        watch.lap("save")
    run.took = {**run.took, **watch.parts}
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
        left = torch.tensor(after.both_directions(after.train))
        place_anew(model, torch.from_numpy(displaced(revision)), left, draws)
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
    own = settings.model_dump(exclude={"budget", "epochs", "patience", "validate_every"})
    given = {"budget": budget, "epochs": epochs, "threads": threads, "device": device}
    return make_settings(**own | {name: x for name, x in given.items() if x is not None})

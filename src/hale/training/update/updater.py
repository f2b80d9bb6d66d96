"""update(): tomorrow's facts for yesterday's run, without starting over.

    read      triples to add and to remove -> the graph after (hale.data.revision)
    grow      known rows keep their place, all scores of known triples stay (models.grow)
    place     new rows start from the facts that name them (models.evidence)
    train     a short while under the run's own strategy, on new facts mixed with old ones,
              with a penalty on known rows that leave their place (objectives.anchored)
    settle    if old validation triples lost more than is allowed, new entities withdraw
              (hale.training.update.withdrawal)
    measure   the run's own test triples before and after

Removed facts leave every split. An entity that loses a share of its facts goes that share of the
way to where the others put it (models.evidence.step_back), so a hub hardly moves, and one that
loses all starts afresh. In training the facts around the removed ones fill a quarter of every
batch, their tails count as wrong answers again, and the entities move without the penalty. What
follows from other facts is still
predicted, as it would be by a run that never saw the removed ones.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hale.data.graph import SPLITS, Graph
from hale.data.keys import Ids, TripleSet
from hale.data.revision import Change, change
from hale.data.sources import Triples, read_triples
from hale.engine.device import choose_device, use_threads
from hale.engine.randomness import Stream, draw_seed, generator
from hale.errors import InputError, SettingsError
from hale.evaluation.evaluator import Metrics, filtered_ranks
from hale.models import Model
from hale.objectives import Anchored
from hale.runs.folder import RunFolder
from hale.runs.run import Run, load_run
from hale.runs.systems import build_model, build_objective
from hale.settings import Settings, make_settings
from hale.training import checkpoint
from hale.training.batches import Batches, Mixed, Shuffled
from hale.training.trainer import Observer, Trainer
from hale.training.update.grow import carry_moments, grow
from hale.training.update.placement import start_new_rows, step_back
from hale.training.update.withdrawal import sample, settle

DEFAULT_UPDATE_SECONDS = 30.0

# Batches hold at least this share of new facts, if there are so many.
LEAST = 0.01
# The share of a batch that lies around removed facts.
AROUND = 0.25
# A batch of an update against one of its run: a short training has more need of steps.
SMALLER = 2


@dataclass(frozen=True)
class Care:
    """How an update treats what is known; chosen by hand on validation triples of CoDEx-M.

    ``anchor``: the weight of the penalty on known rows that move. ``focus``: how often a new fact
    is seen for each time that an old one is; below one, for new rows start in place, and what
    they lack is the push of other queries, not the pull of their own. ``rate``: the learning rate
    at the start, as a multiple of the run's; it falls to zero. It is for changes of a fifth of
    all facts or more, and less for smaller ones (``pace``). ``tolerance``: how much MRR the old
    validation triples may lose, before new entities withdraw.
    """

    anchor: float = 0.01
    focus: float = 0.6
    rate: float = 1.5
    tolerance: float = 0.005

    def __post_init__(self) -> None:
        faults = [
            f"{name}: {rule}, got {value}"
            for name, value, rule, holds in (
                ("anchor", self.anchor, "a weight is at least 0", self.anchor >= 0),
                ("focus", self.focus, "a factor is above 0", self.focus > 0),
                ("rate", self.rate, "a factor is above 0", self.rate > 0),
                ("tolerance", self.tolerance, "a loss is at least 0", self.tolerance >= 0),
            )
            if not holds
        ]
        if faults:
            raise SettingsError(faults)


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
    ``rate`` and ``tolerance`` are explained in ``Care``.

    The run given is left alone. With ``out`` the new one gets a folder, which appears whole at
    the end; only ``overwrite=True`` replaces a run that is there, which may be the given one.
    ``run.origin`` tells what was done, and the quality on the old test triples before and after.
    """
    if add is None and remove is None:
        raise InputError("Give facts to add, facts to remove, or both.")
    wishes = {"anchor": anchor, "focus": focus, "rate": rate, "tolerance": tolerance}
    care = Care(**{name: value for name, value in wishes.items() if value is not None})
    if out is not None:
        RunFolder(out).is_taken(overwrite=overwrite)  # told before anything is trained
    old = run if isinstance(run, Run) else load_run(run, device=device or "auto")
    settings = _settings(old.settings, budget, epochs, threads, device)
    use_threads(settings.threads)

    def read(source: object | None, what: str) -> Triples | None:
        if source is None:
            return None
        return read_triples(source, what=what, columns=columns, header=header, skip_bad=skip_bad)

    change_ = change(
        old.graph,
        read(add, "the table of facts to add"),
        read(remove, "the table of facts to remove"),
        holdout=holdout
        if isinstance(holdout, int | float)
        else read(holdout, "the table of held-out facts") or 0.0,
        seed=settings.seed,
        skip_bad=skip_bad,
    )
    return _train(old, change_, settings, care, out, overwrite, observer)


def _train(
    old: Run,
    change: Change,
    settings: Settings,
    care: Care,
    out: str | Path | None,
    overwrite: bool,
    observer: Observer | None,
) -> Run:
    before, after = change.before, change.after
    removed = TripleSet(change.removed)
    old_test = before.test[~removed.holds(before.test)]
    judged = {"test": old_test, "removed": change.removed}
    former = {name: _quality(old.model, before, triples) for name, triples in judged.items()}
    began = time.perf_counter()
    model = grown(old.model, settings, change)
    moments = checkpoint.moments(RunFolder(old.path)) if old.path else {}
    placed = time.perf_counter() - began

    device = choose_device(settings.device)
    anchors = old.model.entities().detach().clone().to(device)
    # The settings of the run stay as they are, so that updates do not slow each other down.
    course = settings.model_copy(
        update={
            "learning_rate": care.rate * pace(change) * settings.learning_rate,
            "decay": 1.0,
            "gamma_start": None,  # the run has left both starts behind
            "dropout_start": None,
        }
    )
    objective = Anchored(
        build_objective(course),
        anchors,
        weight=care.anchor,
        free=torch.tensor(np.unique(change.removed[:, [0, 2]]), device=device),
    )
    trainer = Trainer(
        after,
        course,
        observer,
        start=model.state_dict(),
        moments=carry_moments(moments, model, before.size),
        batches=mixture(change, settings, care, device),
        objective=objective,
        keep="last",
    )
    run = trainer.fit()
    run.settings = settings

    began = time.perf_counter()
    old_valid = sample(before.valid[~removed.holds(before.valid)], settings.seed)
    valid = _quality(old.model, before, old_valid)
    factor = settle(
        run.model,
        after,
        old_valid,
        first=len(before.entities),
        least=valid["mrr"] - care.tolerance if valid else 0.0,
    )
    settled = time.perf_counter() - began

    moved = (run.model.entities()[: len(anchors)] - anchors).norm(dim=1).mean()
    figures: dict[str, Any] = {
        name: {"before": former[name], "after": _quality(run.model, after, triples)}
        for name, triples in judged.items()
        if len(triples)
    }
    figures["held_out"] = _quality(run.model, after, change.held_out)
    run.origin = [
        *old.origin,
        {
            "from": str(old.path) if old.path else None,
            "kept_step": old.summary.kept_step,
            "added": len(change.added),
            "removed": len(change.removed),
            "held_out": len(change.held_out),
            "new_entities": change.new_entities,
            "new_relations": change.new_relations,
            "notes": list(change.notes),
            "anchor": care.anchor,
            "focus": care.focus,
            "rate": care.rate,
            "pace": pace(change),
            "tolerance": care.tolerance,
            "withdrawn_by": factor,
            "placing_seconds": placed,
            "training_seconds": run.summary.seconds,
            "settling_seconds": settled,
            "mean_move_of_known_entities": moved.item(),
            "quality": {name: found for name, found in figures.items() if found},
        },
    ]
    if out is not None:
        trainer.write(run, out, overwrite=overwrite)
    return run


def grown(old: Model, settings: Settings, change: Change) -> Model:
    """The model of a run for the graph after a change: rows are placed, nothing is trained."""
    after = change.after
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(draw_seed(settings.seed, Stream.INIT))
        model = build_model(settings, after.size)
    grow(old, model)
    facts = torch.tensor(after.both_directions(change.added))
    draws = generator(settings.seed, Stream.PLACE)
    start_new_rows(model, change.before.size, facts, draws)
    if len(change.removed):
        removed, left = (
            torch.tensor(after.both_directions(triples))
            for triples in (change.removed, after.train)
        )
        step_back(model, removed, left, draws)
    return model


def pace(change: Change) -> float:
    """How fast to learn: 1 where a fifth of all facts is new or gone, the fourth root below.

    A handful of facts must not stir what thousands have settled. Never below a tenth.
    """
    facts = sum(len(change.after.split(split)) for split in SPLITS)
    share = (len(change.added) + len(change.removed)) / max(1, facts)
    return float(min(1.0, max(1e-4, share / 0.2)) ** 0.25)


def mixture(change: Change, settings: Settings, care: Care, device: torch.device) -> Batches:
    """Batches of new facts, facts around removed ones, and all others, each in its share.

    A new fact comes ``focus`` times as often as it would in training on the whole graph, but
    new facts are at least one in a hundred. An epoch is a pass over the first of the three.
    """
    after, size = change.after, max(1, settings.batch_size // SMALLER)
    train = after.train
    new = np.arange(len(train)) >= len(train) - len(change.added)  # they stand at the end
    around = ~new & np.isin(train[:, [0, 2]], change.removed[:, [0, 2]]).any(axis=1)

    def batches(triples: Ids, count: int, stream: Stream) -> Shuffled:
        both = torch.tensor(after.both_directions(triples), device=device)
        return Shuffled(both, max(1, min(count, len(both))), settings.seed, stream)

    parts: list[Batches] = []
    left = size
    if new.any():
        weight = care.focus * new.sum()
        share = max(LEAST, weight / (weight + (~new).sum()))
        parts.append(batches(train[new], round(share * size), Stream.ADDED))
        left -= round(share * size)
    if around.any():
        parts.append(batches(train[around], round(AROUND * size), Stream.AROUND))
        left -= round(AROUND * size)
    rest = ~new & ~around
    if rest.any():
        parts.append(batches(train[rest], left, Stream.SHUFFLE))
    whole = parts[0]
    for part in parts[1:]:
        whole = Mixed(whole, part)
    return whole


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

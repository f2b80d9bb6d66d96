"""Trainer: the loop, under a wall-clock budget, a number of epochs, or patience."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from hale.data.graph import Graph
from hale.engine.device import choose_device, keep_freed_memory, use_threads
from hale.engine.randomness import Stream, seeded
from hale.errors import EvaluationError, SettingsError, TrainingError
from hale.evaluation.validation import Validation
from hale.objectives import Criterion, Loss
from hale.runs.file_names import METRICS
from hale.runs.folder import RunFolder
from hale.runs.run import Record, Run, Summary
from hale.runs.systems import build_model, build_objective, check_weights
from hale.settings import Settings
from hale.training.batches import Batches, both_ways
from hale.training.block import blocks_of
from hale.training.checkpoint import State
from hale.training.divergence import faulty, not_finite
from hale.training.extension import extend
from hale.training.extent import Extent, Whole
from hale.training.interrupt import stop_on_signal
from hale.training.keeping import Keeper
from hale.training.needs import check_fits
from hale.training.observer import Observer, tell
from hale.training.optimizers import make_optimizer
from hale.training.pace import Pace
from hale.training.steps import Moment, PlainStep, Step
from hale.training.stopping import StopRule
from hale.training.validation_share import ValidationShare

Keep = Literal["best", "last"]


class Trainer:
    """One run in the making.

    It trains the model that the settings describe, freshly initialised or from the weights
    ``start`` (and ``moments``, a state of the optimiser), on all training triples or on the
    ``batches`` given, by the objective that the settings describe or by ``objective``. It keeps
    the best state by a sample of validation triples, unless the last one is no worse by others;
    or always the last. ``extent`` says how much of the run this process has, all unless told.
    """

    def __init__(
        self,
        graph: Graph,
        settings: Settings,
        observer: Observer | None = None,
        *,
        start: Mapping[str, Tensor] | None = None,
        moments: Mapping[str, Tensor] | None = None,
        batches: Batches | None = None,
        objective: Criterion | None = None,
        keep: Keep = "best",
        extent: Extent | None = None,
    ) -> None:
        if not len(graph.train):
            raise SettingsError([f"the graph {graph.name!r} has no training triples"])
        check_weights(settings, graph)
        if settings.patience is not None and not len(graph.valid):
            raise SettingsError(["patience: the graph has no valid split to be patient about"])
        self.graph = graph
        self.settings = settings
        self.observer = observer
        self.threads = use_threads(settings.threads)
        keep_freed_memory()
        self.device = choose_device(settings.device)
        self.keep = keep
        self.extent: Extent = Whole(graph) if extent is None else extent
        self.group = self.extent.group
        self.pace = Pace(leads=self.group.leads)
        self.objective: Criterion = objective or build_objective(settings)
        check_fits(settings, self.extent.size, len(graph.train) // self.group.size)
        with seeded(settings.seed, Stream.INIT):
            model = build_model(settings, self.extent.size)
        if start is not None:
            model.load_state_dict(start)
        if model.entity.computed:  # no other has a use for them, and ranks map them from a file
            model.see(torch.tensor(graph.train))
        self.model = model.to(self.device)
        self.optimizer = make_optimizer(settings.optimizer, self.model)
        if moments:
            self.optimizer.restore(moments)
        self.batches = both_ways(graph, settings, self.device) if batches is None else batches
        self.blocks = blocks_of(settings, graph.size.num_entities)
        self.known_train = self.extent.known_train()
        if self.model.may_loop is not None:
            self.model.may_loop.copy_(torch.from_numpy(self.known_train.loops)[:, None])
        self.validation = Validation(
            graph, settings.validation_sample, self.extent.rank, self.extent.known_all
        )
        self.steps_per_epoch = self.batches.steps_per_epoch
        self.rule = StopRule(settings, self.steps_per_epoch)
        self.share = ValidationShare(settings, self.validation, self.rule, self.group.lead)
        self.state = State()
        self.keeper = Keeper(
            self.model,
            self.optimizer,
            copies=keep == "best",
            clocked=settings.budget is not None,
            store=self.extent.store,
        )
        self.plain_step: Step = PlainStep(self.model, self.optimizer, self.known_train)
        parts = (self.model, self.objective, self.optimizer, self.known_train, self.pace)
        self.native_step = self.extent.step(*parts, blocks=self.blocks)

    @property
    def folder(self) -> RunFolder | None:
        """Where the run lives, if not in memory alone."""
        return self.keeper.folder

    def begin(self, out: str | Path, *, overwrite: bool = False) -> None:
        """Let the run live in a new folder."""
        began, weights = time.monotonic(), self.model.state_dict()
        folder = RunFolder.create(
            out, self.settings, self.graph, weights, overwrite=overwrite, trained=False
        )
        self.keeper.begin(folder, time.monotonic() - began)

    def resume(self, folder: RunFolder) -> None:
        """Go on where the run in the folder stopped, to the limits that it has now."""
        self.state = self.keeper.resume(folder)
        clock = self.state.clock
        if extend(folder, self.settings, clock, self.rule, write=self.group.leads):
            self.share.hold(clock)
        self.share.apply(clock)
        if self.rule.reason(clock) is None:
            folder.remove(METRICS)  # they speak of weights that are about to change

    def loop(self) -> str:
        """Train until a rule or Ctrl-C ends it -> which; the last state is saved."""
        clock, history = self.state.clock, self.state.history
        stopped_by = self.rule.reason(clock)
        unjudged = clock.step and (not history or history[-1].step < clock.step)
        if unjudged and (stopped_by or self.rule.is_due(clock)):  # a kill came at a validation
            self._validate()
            stopped_by = stopped_by or self.rule.reason(clock)
        with stop_on_signal() as interrupted:
            self.pace.told_to_stop = interrupted.is_set
            self.pace.due = lambda: self.keeper.is_due
            while stopped_by is None:
                self.pace.begin()
                loss = self._step()
                self.state.losses = {name: part.item() for name, part in loss.parts.items()}
                self.pace.end()
                clock.seconds += self.pace.seconds
                if self.observer:
                    self.observer.stepped(clock, self.rule.progress(clock), self.state.losses)
                stopped_by = self.rule.reason(clock)
                judged = bool(stopped_by or self.rule.is_due(clock))
                if judged:
                    try:
                        self.share.settle(self.model, clock)
                        if stopped_by or self.rule.is_due(clock):
                            self._validate()
                    except EvaluationError:
                        raise self._not_finite("validation scores") from None
                    stopped_by = stopped_by or self.rule.reason(clock)
                stop = self.group.any(interrupted.is_set()) if judged else self.pace.stop
                if stop and stopped_by is None:
                    stopped_by = "interrupt"
                if stopped_by == "interrupt" or (self.pace.save and not judged):
                    self._save()
        return stopped_by

    def fit(self) -> Run:
        """Train until a rule or Ctrl-C ends it; the model ends in the state that is kept."""
        clock = self.state.clock
        before = replace(clock)
        stopped_by = self.loop()
        if self.state.kept_step == clock.step:  # of an interrupted run some rows may be behind
            self.optimizer.settle()
        self.keeper.restore(self.state)
        self.optimizer.release()
        run = Run(
            settings=self.settings,
            graph=self.graph,
            model=self.model.eval(),
            summary=self.summary(stopped_by),
            history=self.state.history,
            path=self.folder.path if self.folder else None,
            took={
                "train": clock.seconds - before.seconds,
                "validate": clock.validation_seconds - before.validation_seconds,
                "save": self.keeper.making + self.keeper.spent,
            },
        )
        if self.folder is None:
            run.write_state = partial(self.keeper.write, self.state)
        run.save_summary()
        run.stamp = None if self.folder is None else self.folder.stamp()
        return run

    def _step(self) -> Loss:
        """One batch: loss, gradients, update."""
        clock, seed = self.state.clock, self.settings.seed
        if not self.model.training:
            self.model.train()
        self.optimizer.clear()
        progress = self.rule.progress(clock)
        rate = self.settings.learning_rate * self.rule.rate(clock)
        objective = self.objective.at(progress)
        start, end = self.settings.dropout_start, self.settings.dropout
        if start is not None:
            self.model.dropout.share = start + progress * (end - start)
        moment = Moment(
            self.batches.at(clock.step),
            self.batches.weights_at(clock.step),
            None if self.blocks is None else self.blocks.at(clock.step),
            seed,
            clock.step,
            rate,
        )
        loss = (self.native_step or self.plain_step)(objective, moment)
        if not torch.isfinite(loss.total):
            raise self._not_finite(faulty(loss))
        clock.step += 1
        return loss

    def _validate(self) -> None:
        """Rank the validation sample; keep the state if it is the best, and save, in its share."""
        tell(self.observer, "validating")
        began = time.perf_counter()
        state, clock = self.state, self.state.clock
        self.optimizer.settle()
        self.model.eval()
        metrics = self.validation.metrics(self.model)
        record = Record(
            step=clock.step,
            epoch=clock.step / self.steps_per_epoch,
            seconds=clock.seconds,
            learning_rate=self.settings.learning_rate * self.rule.rate(clock),
            losses=state.losses,
            metrics=metrics,
        )
        # Without a valid split there is nothing to compare: the latest is kept.
        before = max((past.metrics.get("mrr", 0.0) for past in state.history), default=-1.0)
        better = not metrics or metrics["mrr"] > before
        best = state.kept  # not always the best of all: a state is kept only where it is saved
        judged = replace(clock)
        self.rule.judge(judged, better=better)
        ending = self.rule.reason(judged) is not None
        keep = self.keep == "last" or best is None or not metrics
        if best is not None and metrics:
            keep = keep or metrics["mrr"] > best.metrics["mrr"]
        if ending and not keep and len(self.validation.others):
            self.keeper.save(state)  # not judged yet, so that a kill from here on costs nothing
            kept, last = self.keeper.kept(), self.keeper.last()
            keep = self.validation.prefers_last(self.model, last, kept)
        state.history.append(record)
        self.rule.judge(clock, better=better)
        save = ending or self.group.lead(self.keeper.affordable) > 0
        keep = keep and save
        if keep:
            self.keeper.keep(state)
        clock.validation_seconds += self.group.lead(time.perf_counter() - began)
        if save:
            self._save()
        if self.observer:
            self.observer.validated(record, kept=keep)

    def _save(self) -> None:
        tell(self.observer, "saving")
        # Interrupted before any validation: keep what there is.
        if self.state.kept is None or self.keep == "last":
            self.keeper.keep(self.state)
        self.keeper.save(self.state)

    def summary(self, stopped_by: str) -> Summary:
        """How training went."""
        clock = self.state.clock
        return Summary(
            stopped_by=stopped_by,
            steps=clock.step,
            epochs=clock.step / self.steps_per_epoch,
            seconds=clock.seconds,
            validation_seconds=clock.validation_seconds,
            validation_sample=self.validation.size,
            kept_step=self.state.kept_step,
            threads=self.threads,
            device=self.device.type,
            ranks=self.group.size,
        )

    def _not_finite(self, what: str) -> TrainingError:
        kept = None if self.folder is None else self.folder.path
        rate = self.settings.learning_rate
        return not_finite(self.model, what, self.state, kept_in=kept, rate=rate)

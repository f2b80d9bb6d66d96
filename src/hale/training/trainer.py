"""Trainer: the loop, under a wall-clock budget, a number of epochs, or patience."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from hale.data.graph import Graph, GraphSize
from hale.engine.device import choose_device, keep_freed_memory, use_threads
from hale.engine.randomness import Stream, generator, seeded
from hale.errors import EvaluationError, RunError, SettingsError, TrainingError
from hale.evaluation.validation import Validation
from hale.objectives import Criterion, Loss
from hale.runs.folder import METRICS, ORIGIN, RunFolder
from hale.runs.lock import writing_run
from hale.runs.run import Record, Run, Summary
from hale.runs.systems import build_model, build_objective, complete, given_in
from hale.settings import Settings
from hale.training import checkpoint
from hale.training.batches import Batches, Shuffled
from hale.training.block import blocks_of
from hale.training.checkpoint import State
from hale.training.divergence import not_finite
from hale.training.interrupt import stop_on_signal
from hale.training.observer import Observer
from hale.training.optimizers import make_optimizer
from hale.training.stopping import StopRule
from hale.training.validation_share import ValidationShare

# A run is saved after every validation, and in between when this much time has passed.
SAVE_SECONDS = 60.0

Keep = Literal["best", "last"]


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
    strategy, the model and the graph (``complete``). With ``out`` the run lives in that folder
    from the first moment, nobody else may write it meanwhile, and a run that is there is replaced
    only on request (``overwrite=True``). Ctrl-C stops after the step at hand with everything
    saved; ``run.summary.stopped_by`` says so.

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
        trainer = Trainer(graph, complete(graph, **given), observer)
        if out is not None:
            trainer.begin(out, overwrite=overwrite)
        return trainer.fit()


def check(settings: Settings) -> None:
    """Refuse names and combinations that do not exist, before a graph is read or fetched."""
    build_objective(settings)
    build_model(settings, GraphSize(1, 1))
    choose_device(settings.device)


class Trainer:
    """One run in the making.

    It trains the model that the settings describe, freshly initialised or from the weights
    ``start`` (and ``moments``, a state of the optimiser), on all training triples or on the
    ``batches`` given, by the objective that the settings describe or by ``objective``. It keeps
    the best state by a sample of validation triples, unless the last one is no worse by others;
    or always the last.
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
    ) -> None:
        if not len(graph.train):
            raise SettingsError([f"the graph {graph.name!r} has no training triples"])
        if settings.patience is not None and not len(graph.valid):
            raise SettingsError(["patience: the graph has no valid split to be patient about"])
        self.graph = graph
        self.settings = settings
        self.observer = observer
        self.folder: RunFolder | None = None
        self.threads = use_threads(settings.threads)
        keep_freed_memory()
        self.device = choose_device(settings.device)

        self.keep = keep
        self.objective: Criterion = objective or build_objective(settings)
        with seeded(settings.seed, Stream.INIT):
            model = build_model(settings, graph.size)
        if start is not None:
            model.load_state_dict(start)
        self.model = model.to(self.device)
        self.optimizer = make_optimizer(settings.optimizer, self.model)
        if moments:
            self.optimizer.restore(moments)
        if batches is None:
            both = torch.tensor(graph.both_directions(graph.train), device=self.device)  # (2n, 3)
            batches = Shuffled(both, settings.batch_size, settings.seed)
        self.batches = batches
        self.blocks = blocks_of(settings, graph.size.num_entities)
        self.known_train = graph.known("train")
        if self.model.may_loop is not None:
            self.model.may_loop.copy_(torch.from_numpy(self.known_train.loops)[:, None])
        self.validation = Validation(graph, settings.validation_sample)
        self.steps_per_epoch = batches.steps_per_epoch
        self.rule = StopRule(settings, self.steps_per_epoch)
        self.share = ValidationShare(settings, self.validation, self.rule)
        self.state = State()
        self.kept_weights: dict[str, Tensor] = {}  # none until a state is kept
        self.saved = time.monotonic()

    def begin(self, out: str | Path, *, overwrite: bool = False) -> None:
        """Let the run live in a new folder."""
        self.folder = RunFolder.create(
            out, self.settings, self.graph, self._weights(), overwrite=overwrite
        )

    def resume(self, folder: RunFolder) -> None:
        """Go on where the run in the folder stopped."""
        self.folder = folder
        self.state, self.kept_weights = checkpoint.resume(folder, self.model, self.optimizer)
        self.share.apply(self.state.clock)
        if self.rule.reason(self.state.clock) is None:
            folder.remove(METRICS)  # they speak of weights that are about to change

    def fit(self) -> Run:
        """Train until a rule or Ctrl-C ends it; the model ends in the state that is kept."""
        clock = self.state.clock
        stopped_by = self.rule.reason(clock)
        with stop_on_signal() as interrupted:
            while stopped_by is None:
                began = time.perf_counter()
                loss = self._step()
                self.state.losses = {name: part.item() for name, part in loss.parts.items()}
                clock.seconds += time.perf_counter() - began
                if self.observer:
                    self.observer.stepped(clock, self.rule.progress(clock), self.state.losses)
                stopped_by = self.rule.reason(clock)
                if stopped_by or self.rule.is_due(clock):
                    try:
                        self.share.settle(self.model, clock)
                        if stopped_by or self.rule.is_due(clock):
                            self._validate()
                    except EvaluationError:
                        raise self._not_finite("validation scores") from None
                    stopped_by = stopped_by or self.rule.reason(clock)
                if interrupted.is_set() and stopped_by is None:
                    stopped_by = "interrupt"
                if stopped_by == "interrupt" or time.monotonic() - self.saved > SAVE_SECONDS:
                    self._save()
        if self.kept_weights:
            self.model.load_state_dict(self.kept_weights)
        run = Run(
            settings=self.settings,
            graph=self.graph,
            model=self.model.eval(),
            summary=self._summary(stopped_by),
            history=self.state.history,
            path=self.folder.path if self.folder else None,
        )
        run.save_summary()
        run.stamp = None if self.folder is None else self.folder.stamp()
        return run

    def write(self, run: Run, out: str | Path, *, overwrite: bool = False) -> None:
        """Give a finished run that lived in memory a folder, which appears whole."""

        def fill(folder: RunFolder) -> None:
            checkpoint.save(folder, self.state, self.model, self.optimizer)
            folder.write_json(METRICS, {"training": asdict(run.summary), **run.metrics})
            if run.origin:
                folder.write_json(ORIGIN, run.origin)

        weights = self._weights()
        RunFolder.create(out, run.settings, run.graph, weights, overwrite=overwrite, fill=fill)
        run.path = Path(out)
        run.stamp = RunFolder(out).stamp()

    def _step(self) -> Loss:
        """One batch: loss, gradients, update."""
        clock = self.state.clock
        self.model.train()
        draws = generator(self.settings.seed, Stream.SAMPLE, clock.step)
        self.optimizer.clear()
        progress = self.rule.progress(clock)
        objective = self.objective.at(progress)
        start, end = self.settings.dropout_start, self.settings.dropout
        if start is not None:
            self.model.dropout.share = start + progress * (end - start)
        batch = self.batches.at(clock.step)
        drops = seeded(self.settings.seed, Stream.DROPOUT, clock.step)
        with drops if self.model.dropout.share else nullcontext():
            block = None if self.blocks is None else self.blocks.at(clock.step)
            loss = objective(self.model, batch, draws, self.known_train, block)
        if not math.isfinite(loss.total.item()):
            parts = [name for name, part in loss.parts.items() if not torch.isfinite(part)]
            raise self._not_finite(f"loss ({' and '.join(parts) or 'total'})")
        loss.total.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step(self.settings.learning_rate * self.rule.rate(clock))
        clock.step += 1
        return loss

    def _validate(self) -> None:
        """Rank the validation sample, keep the state if it is the best, save."""
        began = time.perf_counter()
        state, clock = self.state, self.state.clock
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
        best = state.kept
        # Without a valid split there is nothing to compare: the latest is kept.
        better = best is None or not metrics or metrics["mrr"] > best.metrics["mrr"]
        state.history.append(record)
        self.rule.judge(clock, better=better)
        keep = better or self.keep == "last"
        weights = self._weights()
        if not keep and self.rule.reason(clock):
            keep = self.validation.prefers_last(self.model, weights, self.kept_weights)
        if keep:
            state.kept_step, self.kept_weights = clock.step, weights
        clock.validation_seconds += time.perf_counter() - began
        self._save()
        if self.observer:
            self.observer.validated(record, kept=keep)

    def _save(self) -> None:
        # Interrupted before any validation: keep what there is.
        if self.state.kept is None or self.keep == "last":
            self.state.kept_step, self.kept_weights = self.state.clock.step, self._weights()
        if self.folder is not None:
            checkpoint.save(self.folder, self.state, self.model, self.optimizer)
        self.saved = time.monotonic()

    def _weights(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def _summary(self, stopped_by: str) -> Summary:
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
        )

    def _not_finite(self, what: str) -> TrainingError:
        kept = None if self.folder is None else self.folder.path
        rate = self.settings.learning_rate
        return not_finite(self.model, what, self.state, kept_in=kept, rate=rate)

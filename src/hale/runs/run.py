"""Run: a trained model with its graph and settings, and the way back from its folder."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import torch

from hale.data.graph import Graph
from hale.data.results import html_table
from hale.engine.blank import blank
from hale.engine.device import choose_device
from hale.engine.group import ALONE, Group
from hale.engine.shards import Shards
from hale.errors import HaleWarning, InputError, RunError
from hale.models import Model
from hale.models.held import rows_held, share
from hale.runs.file_names import HISTORY, METRICS, MODEL, ORIGIN
from hale.runs.folder import RunFolder
from hale.runs.header import SETTINGS
from hale.runs.lock import writing_run
from hale.runs.metrics_file import read_metrics, read_or_warn, reports_of, write_metrics
from hale.runs.named_vectors import Vectors, tables_in, vectors_of
from hale.runs.replacing import new_folder
from hale.runs.systems import build_model
from hale.runs.training_curve import curve_svg
from hale.settings import Settings


@dataclass(frozen=True)
class Record:
    """One validation during training."""

    step: int
    epoch: float
    seconds: float  # of training so far; validation excluded
    learning_rate: float
    losses: Mapping[str, float]  # of the last step
    metrics: Mapping[str, float]  # of the validation sample; empty without a valid split


@dataclass(frozen=True)
class Summary:
    """How a training run went, and which of its states is kept."""

    stopped_by: str  # 'budget', 'epochs', 'patience', 'interrupt'; 'unfinished' after a kill
    steps: int
    epochs: float
    seconds: float  # of training
    validation_seconds: float | None  # None where a kill left nobody to tell
    validation_sample: int  # triples that validation ranks while training
    kept_step: int  # the step whose state validation kept
    threads: int | None  # of each rank
    device: str | None
    ranks: int = 1  # processes that trained it together


@dataclass
class Run:
    """A trained model, its graph, its settings and its history.

    ``path`` is the folder it lives in, or None for a run in memory only;
    ``metrics`` holds the reports of evaluations that were saved, by split, and
    ``origin`` the updates that led to it, the first one first.
    """

    settings: Settings
    graph: Graph
    model: Model
    summary: Summary
    history: list[Record] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None
    origin: list[dict[str, Any]] = field(default_factory=list)
    stamp: tuple[int, ...] | None = field(default=None, repr=False)  # of the folder as it was
    # Of a run in memory: writes the state that it can be gone on from, which it holds till then.
    write_state: Callable[[RunFolder], None] | None = field(default=None, repr=False)
    took: dict[str, float] = field(default_factory=dict, repr=False)  # seconds by part
    # What was made from it and is held for the next question, by name.
    held: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def best(self) -> Record | None:
        """The validation of the state that is kept; None if there was none."""
        return next((r for r in self.history if r.step == self.summary.kept_step), None)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Give the run a folder: the one that training with ``out=path`` would have left.

        It appears whole or not at all, and replaces a run that is there only with ``overwrite``. A
        run in memory lives there from then on; one that has a folder already is copied.
        """
        with writing_run(path):
            if self.path is None:
                weights = self.model.state_dict()
                RunFolder.create(
                    path,
                    self.settings,
                    self.graph,
                    weights,
                    overwrite=overwrite,
                    step=self.summary.kept_step,
                    fill=self._fill,
                )
                self.path, self.stamp = Path(path), RunFolder(path).stamp()
                self.write_state = None
            else:
                RunFolder(self.path).check_stamp(self.stamp)
                _copy(self.path, path, overwrite=overwrite)

    def _fill(self, folder: RunFolder) -> None:
        """What a folder has beside settings, graph and weights."""
        if self.write_state is not None:
            self.write_state(folder)
        else:
            folder.write_lines(HISTORY, [asdict(record) for record in self.history])
        write_metrics(folder, asdict(self.summary), self.metrics)
        if self.origin:
            folder.write_json(ORIGIN, self.origin)

    def vectors(self, table: str = "entity") -> Vectors:
        """Vectors with their names, as NumPy: of the entities, or another table of the model.

        ``run.tables`` lists them: 'entity' (N rows), and those of relations (2R rows, the
        reciprocal of r called r^-1). Rows are what the model computes with.
        """
        return vectors_of(self.model, self.graph, table)

    @property
    def tables(self) -> dict[str, tuple[int, ...]]:
        """The tables that ``vectors`` gives, and their shapes."""
        return {name: tuple(rows.weight.shape) for name, rows in tables_in(self.model).items()}

    def _repr_html_(self) -> str:
        """As a notebook shows it: how training went, with its curve, and what was measured."""
        rows = {"validation sample": self.best.metrics} if self.best and self.best.metrics else {}
        rows |= {f"{split} split": report for split, report in self.metrics.items()}
        names = ("mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "count")
        found = [{"": name, **{key: row[key] for key in names}} for name, row in rows.items()]
        frame = pl.DataFrame(found, schema=None if found else {"": pl.String})
        return html_table(frame, caption=repr(self), aside=curve_svg(self.history))

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON: the graph, settings, how training went, and what was measured."""
        return {
            "graph": self.graph.name,
            "entities": len(self.graph.entities),
            "relations": len(self.graph.relations),
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "settings": self.settings.model_dump(mode="json"),
            "training": asdict(self.summary),
            "history": [asdict(record) for record in self.history],
            "metrics": self.metrics,
        }

    def save_metrics(self, split: str, report: Mapping[str, Any]) -> None:
        """Keep the report of an evaluation with the run, beside those that others kept since."""
        self.metrics[split] = dict(report)
        if self.path is None:
            return
        with writing_run(self.path):
            folder = RunFolder(self.path)
            folder.check_stamp(self.stamp)
            training, kept = reports_of(folder, self.summary.kept_step)
            self.metrics = {**self.metrics, **kept, split: dict(report)}
            write_metrics(folder, training or asdict(self.summary), self.metrics)

    def save_summary(self) -> None:
        """Write down how training went; reports stay where they are of the weights kept now."""
        self.metrics = {}
        if self.path is None:
            return
        with writing_run(self.path):
            folder = RunFolder(self.path)
            _, self.metrics = reports_of(folder, self.summary.kept_step)
            folder.check_stamp(self.stamp)
            write_metrics(folder, asdict(self.summary), self.metrics)

    def __repr__(self) -> str:
        where = f" in {self.path}" if self.path else ""
        return (
            f"Run({self.settings.model}, dim={self.settings.dim}, on {self.graph.name!r}, "
            f"{self.summary.steps:,} steps in {self.summary.seconds:.0f} s{where})"
        )


RunSource = Run | str | Path  # what stands for a run: itself, or the path of its folder


def load_run(path: str | Path, *, device: str = "auto", group: Group = ALONE) -> Run:
    """Load a run from its folder, also one that was killed while training.

    Of the entities, each rank of a ``group`` reads and holds its span, on its CPU unless told
    otherwise; all ask it together then.
    """
    place = choose_device("cpu" if device == "auto" and group.size > 1 else device)
    folder = RunFolder(path)
    stamp = folder.stamp() if folder.has(SETTINGS) and folder.has(MODEL) else None
    settings, graph = folder.read_settings(), folder.read_graph()
    unmade = folder.blaming(SETTINGS, "names a model that this hale cannot make")
    with unmade, blank():  # no numbers are drawn that the file replaces
        span = Shards(len(graph.entities), group.size).span(group.rank)
        model = build_model(settings, graph.size._replace(num_entities=len(span)))
    if group.size > 1 and group.rank == 0:  # others read their rows alone, as it does
        folder.check_bytes(MODEL)
    weights, about = folder.read_tensors(MODEL, rows_held(model, group, span))
    with folder.blaming(MODEL, "does not fit settings.json and entities.txt"):
        model = model.to_empty(device="cpu")
        model.load_state_dict(weights)
        kept_step = int(about["step"])
    del weights  # the pages of the file
    model.see(torch.tensor(graph.train))
    history: list[Record] = read_or_warn(
        folder, HISTORY, lambda: [Record(**line) for line in folder.read_lines(HISTORY)], []
    )
    training, metrics = read_metrics(folder)
    summary: Summary | None = None
    if training:
        summary = read_or_warn(folder, METRICS, lambda: Summary(**training), None)
    origin: list[dict[str, Any]] = read_or_warn(
        folder, ORIGIN, lambda: [{**one} for one in folder.read_json(ORIGIN)], []
    )
    if summary is None or summary.kept_step != kept_step:
        # A kill came between: what was said of earlier weights does not hold for these.
        metrics, summary = {}, _unfinished(history, kept_step)
    if about.get("untrained"):
        warnings.warn(
            f"the run {path} is not trained: it was killed before its first save (or is being "
            "trained now), and its weights are the random ones it began with. Go on with: "
            f"hale train --resume --out {path}",
            HaleWarning,
            stacklevel=2,
        )
    return Run(
        settings=settings,
        graph=graph,
        model=share(model.to(place).eval(), group, len(graph.entities)),
        summary=summary,
        history=history,
        metrics=metrics,
        path=Path(path),
        origin=origin,
        stamp=stamp,
    )


def _unfinished(history: list[Record], kept_step: int) -> Summary:
    """All that is known of a run that was killed: up to its last validation."""
    last = history[-1] if history else None
    return Summary(
        stopped_by="unfinished",
        steps=last.step if last else kept_step,
        epochs=last.epoch if last else 0.0,
        seconds=last.seconds if last else 0.0,
        validation_seconds=None,
        validation_sample=int(last.metrics.get("count", 0)) // 2 if last else 0,
        kept_step=kept_step,
        threads=None,
        device=None,
    )


def _copy(path: Path, to: str | Path, *, overwrite: bool) -> None:
    """The files of a run in another folder, which appears whole or not at all."""
    target = Path(to).absolute()
    if target.resolve() == path.resolve():
        raise RunError(f"The run lives in {to} already.")
    with new_folder(target, overwrite=overwrite) as waiting:
        for file in (file for file in path.iterdir() if file.is_file()):
            shutil.copyfile(file, waiting / file.name)


def open_run(run: RunSource) -> Run:
    """A run as it is, or loaded from its folder: the one door for all that asks a run.

    A folder is read anew each time: to ask much, load the run once (``load_run``).
    """
    if isinstance(run, Run):
        return run
    if isinstance(run, str | Path):
        return load_run(run)
    raise InputError(f"Expected a run or the path of its folder, got {type(run).__name__}.")

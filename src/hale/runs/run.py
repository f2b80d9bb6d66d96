"""Run: a trained model with its graph and settings, and the way back from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from hale.data.graph import Graph
from hale.engine.device import choose_device
from hale.models import Model
from hale.runs.folder import HISTORY, METRICS, MODEL, ORIGIN, SETTINGS, RunFolder
from hale.runs.lock import writing_run
from hale.runs.systems import build_model
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
    threads: int | None
    device: str | None


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

    @property
    def best(self) -> Record | None:
        """The validation of the state that is kept; None if there was none."""
        return next((r for r in self.history if r.step == self.summary.kept_step), None)

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
        """Keep the report of an evaluation with the run."""
        self.metrics[split] = dict(report)
        self._write_metrics()

    def save_summary(self) -> None:
        """Write down how training went; earlier reports speak of earlier weights."""
        self.metrics = {}
        self._write_metrics()

    def _write_metrics(self) -> None:
        if self.path is not None:
            everything = {"training": asdict(self.summary), **self.metrics}
            with writing_run(self.path):
                RunFolder(self.path).check_stamp(self.stamp)
                RunFolder(self.path).write_json(METRICS, everything)

    def __repr__(self) -> str:
        where = f" in {self.path}" if self.path else ""
        return (
            f"Run({self.settings.model}, dim={self.settings.dim}, on {self.graph.name!r}, "
            f"{self.summary.steps:,} steps in {self.summary.seconds:.0f} s{where})"
        )


def load_run(path: str | Path, *, device: str = "auto") -> Run:
    """Load a run from its folder, also one that was killed while training."""
    folder = RunFolder(path)
    stamp = folder.stamp() if folder.has(SETTINGS) and folder.has(MODEL) else None
    settings, graph = folder.read_settings(), folder.read_graph()
    unmade = folder.blaming(SETTINGS, "names a model that this hale cannot make")
    with unmade, torch.device("meta"):  # no numbers are drawn that the file replaces
        model = build_model(settings, graph.size)
    weights, about = folder.read_tensors(MODEL)
    with folder.blaming(MODEL, "does not fit settings.json and entities.txt"):
        model = model.to_empty(device="cpu")
        model.load_state_dict(weights)
        kept_step = int(about["step"])
    del weights  # the pages of the file
    with folder.blaming(HISTORY):
        lines = folder.read_lines(HISTORY) if folder.has(HISTORY) else []
        history = [Record(**line) for line in lines]
    with folder.blaming(METRICS):
        metrics = folder.read_json(METRICS) if folder.has(METRICS) else {}
        training = metrics.pop("training", None)
        summary = Summary(**training) if training else None
    with folder.blaming(ORIGIN):
        origin = [dict(entry) for entry in folder.read_json(ORIGIN)] if folder.has(ORIGIN) else []
    if summary is None or summary.kept_step != kept_step:
        # A kill came between: what was said of earlier weights does not hold for these.
        metrics, summary = {}, _unfinished(history, kept_step)
    return Run(
        settings=settings,
        graph=graph,
        model=model.to(choose_device(device)).eval(),
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

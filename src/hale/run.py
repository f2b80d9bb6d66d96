"""Run: a trained model with its graph and settings, and the way back from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hale.device import choose_device
from hale.errors import RunError
from hale.graph import Graph
from hale.models import Model, make_model
from hale.settings import Settings
from hale.store import RunFolder


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
    validation_seconds: float
    validation_sample: int  # triples that validation ranks while training
    kept_step: int  # the step whose state is kept: the best by validation
    threads: int
    device: str


@dataclass
class Run:
    """A trained model, its graph, its settings and its history.

    ``path`` is the folder it lives in, or None for a run in memory only;
    ``metrics`` holds the reports of evaluations that were saved, by split.
    """

    settings: Settings
    graph: Graph
    model: Model
    summary: Summary
    history: list[Record] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None

    @property
    def best(self) -> Record | None:
        """The validation of the state that is kept; None if there was none."""
        return next((r for r in self.history if r.step == self.summary.kept_step), None)

    def save_metrics(self, split: str, report: Mapping[str, Any]) -> None:
        """Keep the report of an evaluation with the run."""
        self.metrics[split] = dict(report)
        if self.path is not None:
            everything = {"training": asdict(self.summary), **self.metrics}
            RunFolder(self.path).write_json("metrics.json", everything)

    def save_summary(self) -> None:
        """Write down how training went; earlier reports speak of earlier weights."""
        self.metrics = {}
        if self.path is not None:
            RunFolder(self.path).write_json("metrics.json", {"training": asdict(self.summary)})

    def __repr__(self) -> str:
        where = f" in {self.path}" if self.path else ""
        return (
            f"Run({self.settings.model}, dim={self.settings.dim}, on {self.graph.name!r}, "
            f"{self.summary.steps:,} steps in {self.summary.seconds:.0f} s{where})"
        )


def load_run(path: str | Path, *, device: str = "auto") -> Run:
    """Load a run from its folder, also one that was killed while training."""
    folder = RunFolder(path)
    settings, header = folder.read_settings()
    graph = folder.read_graph(header["graph"]["name"])
    model = make_model(settings.model, graph.size, settings.dim)
    weights, about = folder.read_tensors("model.safetensors")
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        first = str(error).split("\n", 1)[0]
        raise RunError(
            f"The run {path} is damaged: model.safetensors does not fit settings.json ({first})"
        ) from None
    records = folder.read_lines("history.jsonl") if folder.has("history.jsonl") else []
    metrics = folder.read_json("metrics.json") if folder.has("metrics.json") else {}
    training = metrics.pop("training", None) or {
        "stopped_by": "unfinished",
        "steps": about["step"],
        "epochs": records[-1]["epoch"] if records else 0.0,
        "seconds": records[-1]["seconds"] if records else 0.0,
        "validation_seconds": 0.0,
        "validation_sample": min(settings.validation_sample, len(graph.valid)),
        "kept_step": about["step"],
        "threads": 0,
        "device": "unknown",
    }
    try:
        return Run(
            settings=settings,
            graph=graph,
            model=model.to(choose_device(device)).eval(),
            summary=Summary(**training),
            history=[Record(**record) for record in records],
            metrics=metrics,
            path=Path(path),
        )
    except TypeError as error:
        raise RunError(
            f"The run {path} is damaged: history.jsonl or metrics.json has other fields ({error})."
        ) from None

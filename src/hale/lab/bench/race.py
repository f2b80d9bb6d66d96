"""Quality over training time: hale against what a user would pick instead, PyKEEN.

The same graph, cores, dimension and clock for all; validation is not on the clock. All are
ranked by hale's evaluator on the same sample of validation triples, in both directions.
Each rival runs in a process of its own.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from hale.data.datasets import load
from hale.data.files import write_whole
from hale.engine.device import use_threads
from hale.errors import MissingExtraError
from hale.lab.bench.apart import apart
from hale.lab.bench.curves import Curve, quality_at, reached
from hale.models.tables import Table
from hale.runs.run import Record
from hale.runs.systems import complete
from hale.training.stopping import Clock
from hale.training.trainer import Trainer

MARKS = (15, 30, 60, 120)
# Validations in the time of a race: one every two seconds of two minutes. PyKEEN ranks slowly, so
# once a rival of its kind is at the target, one every ten seconds.
VALIDATIONS, LATER = 60, 12
OWN = 240  # of hale, which is there within seconds

# What each rival trains: PyKEEN's settings were the best of a few tried by hand on WN18RR.
PYKEEN: dict[str, dict[str, Any]] = {
    "pykeen-mure-adversarial": {"model": "MuRE", "loop": "slcwa", "batch": 512, "rate": 0.01},
    "pykeen-rotate-adversarial": {"model": "RotatE", "loop": "slcwa", "batch": 512, "rate": 0.02},
    "pykeen-mure-1vsall": {"model": "MuRE", "loop": "lcwa", "batch": 512, "rate": 0.01},
}
MARGIN = 3.0
NUM_NEGATIVES = 64
RIVALS = ("hale", *PYKEEN)


def race_rows(
    source: str,
    *,
    seconds: float = 120,
    dim: int = 32,
    threads: int | None = None,
    sample: int = 500,
    target: float = 0.38,
    metric: str = "mrr",
    rivals: Sequence[str] = RIVALS,
) -> list[dict[str, Any]]:
    """One row per rival: its curve, its time to the target, its quality at the marks."""
    rows = []
    for rival in rivals:
        curve = apart(run, rival, source, seconds, dim, threads, sample, metric, target)
        rows.append(
            {
                "rival": rival,
                "metric": metric,
                "target": target,
                "seconds_to_target": reached(curve, metric, target),
                **{f"{metric}@{mark}s": quality_at(curve, metric, mark) for mark in MARKS},
                "curve": curve,
            }
        )
    return rows


def run(
    rival: str,
    source: str,
    seconds: float,
    dim: int,
    threads: int | None,
    sample: int,
    metric: str,
    target: float,
) -> Curve:
    """The curve of one rival; what the processes of a race do."""
    use_threads(threads)
    graph = load(source)
    # A trainer of hale's gives all rivals the same validation sample.
    settings = complete(
        graph,
        budget=seconds,
        dim=dim,
        validation_sample=sample,
        validate_every=f"{seconds / (OWN if rival == 'hale' else VALIDATIONS):g}s",
    )
    trainer = Trainer(graph, settings, keep="last")  # only the curve is of interest
    if rival == "hale":
        watch = _Watch()
        trainer.observer = watch
        trainer.fit()
        return watch.curve
    schedule = _Schedule(seconds, metric, target)
    return _train_pykeen(trainer, PYKEEN[rival], schedule, dim)


class _Watch:
    def __init__(self) -> None:
        self.curve: Curve = []

    def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
        """Nothing to do."""

    def validated(self, record: Record, *, kept: bool) -> None:  # noqa: ARG002
        """Keep the point."""
        self.curve.append({"seconds": record.seconds, **dict(record.metrics)})


@dataclass(frozen=True)
class _Schedule:
    """How long a rival trains, and when it is ranked."""

    seconds: float
    metric: str
    target: float

    def interval(self, curve: Curve) -> float:
        """Seconds to the next validation."""
        there = reached(curve, self.metric, self.target) is not None
        return self.seconds / (LATER if there else VALIDATIONS)


def _train_pykeen(trainer: Trainer, setup: dict[str, Any], schedule: _Schedule, dim: int) -> Curve:
    try:
        from pykeen import losses, models, training
        from pykeen.triples import CoreTriplesFactory
    except ImportError:
        raise MissingExtraError("A race against PyKEEN", "bench") from None

    graph = trainer.graph
    factory = CoreTriplesFactory(
        torch.tensor(graph.train), len(graph.entities), len(graph.relations)
    )
    adversarial = setup["loop"] == "slcwa"
    loss = losses.NSSALoss(margin=MARGIN, adversarial_temperature=1.0)
    model = models.model_resolver.make(
        setup["model"],
        triples_factory=factory,
        embedding_dim=dim if setup["model"] != "RotatE" else dim // 2,  # complex numbers
        loss=loss if adversarial else losses.CrossEntropyLoss(),
        random_seed=0,
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=setup["rate"])
    if adversarial:
        loop: Any = training.SLCWATrainingLoop(
            model=model,
            triples_factory=factory,
            optimizer=optimizer,
            negative_sampler_kwargs={"num_negs_per_pos": NUM_NEGATIVES},
        )
    else:
        loop = training.LCWATrainingLoop(model=model, triples_factory=factory, optimizer=optimizer)
    follower = _follower(trainer, model, schedule)
    with contextlib.suppress(_TimeIsUpError):
        loop.train(
            triples_factory=factory,
            num_epochs=100_000,
            batch_size=setup["batch"],
            callbacks=follower,
            use_tqdm=False,
        )
    curve: Curve = follower.curve
    return curve


class _TimeIsUpError(Exception):
    """Ends a training loop that knows only epochs."""


def _follower(trainer: Trainer, model: Any, schedule: _Schedule) -> Any:
    """A callback that keeps the clock and validates; its own time is not on the clock."""
    from pykeen.training.callbacks import TrainingCallback

    num_relations = len(trainer.graph.relations)

    class Foreign(torch.nn.Module):
        """PyKEEN's model as hale's evaluator sees one: scores of all answers to a query."""

        size = trainer.graph.size
        entity = Table(1, 1)  # of none but this process

        def entities(self) -> torch.Tensor:
            return next(model.parameters())  # type: ignore[no-any-return]

        def score_all(
            self,
            head: torch.Tensor,
            relation: torch.Tensor,
            first: int = 0,
            last: int | None = None,
        ) -> torch.Tensor:
            # A few at a time: PyKEEN builds a tensor of queries x entities x dimensions.
            few = [slice(start, start + 8) for start in range(0, len(head), 8)]
            scores = [self._score_few(head[part], relation[part])[:, first:last] for part in few]
            return torch.cat(scores)

        def _score_few(self, head: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
            forward = relation < num_relations
            scores = torch.empty(len(head), trainer.graph.size.num_entities)
            if forward.any():
                pairs = torch.stack((head, relation), dim=1)[forward]
                scores[forward] = model.score_t(pairs)
            if (~forward).any():
                pairs = torch.stack((relation - num_relations, head), dim=1)[~forward]
                scores[~forward] = model.score_h(pairs)
            return scores

    class Follower(TrainingCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.curve: Curve = []
            self.began: float | None = None  # at the first batch: set-up is on no rival's clock
            self.seconds = 0.0
            self.next = schedule.interval([])

        def pre_batch(self, *_args: object, **_kwargs: object) -> None:
            if self.began is None:
                self.began = time.perf_counter()

        def post_batch(self, *_args: object, **_kwargs: object) -> None:
            # After every batch: an epoch of 1-vs-all can take longer than the whole race.
            assert self.began is not None
            self.seconds += time.perf_counter() - self.began
            if self.seconds >= self.next or self.seconds >= schedule.seconds:
                model.eval()
                metrics = trainer.validation.metrics(Foreign())  # type: ignore[arg-type]
                self.curve.append({"seconds": self.seconds, **metrics})
                self.next = self.seconds + schedule.interval(self.curve)
                model.train()
            if self.seconds >= schedule.seconds:
                raise _TimeIsUpError
            self.began = time.perf_counter()

    return Follower()


def plot_race(rows: Sequence[dict[str, Any]], graph: str, target: Path) -> None:
    """Quality over training time for all rivals."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("Drawing", "plot") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    metric = rows[0]["metric"]
    figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    for row in rows:
        points = [(point["seconds"], point[metric]) for point in row["curve"]]
        axes.plot(*zip(*points, strict=True), label=row["rival"])
    axes.axhline(rows[0]["target"], linestyle=":", color="0.5", label="target")
    axes.set_xlabel("seconds of training")
    axes.set_ylabel(f"{metric} on validation triples")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.set_title(f"{graph}: quality over time, the same cores, dimension and clock")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    kind = target.suffix.removeprefix(".") or "png"
    write_whole(target, lambda path: figure.savefig(path, format=kind, dpi=130))
    plt.close(figure)

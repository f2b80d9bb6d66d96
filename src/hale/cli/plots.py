"""Pictures of a run (extra 'plot')."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hale.data.files import write_whole
from hale.errors import InputError, MissingExtraError, WriteError
from hale.evaluation.reliability import Quality
from hale.runs.run import Run


def plot_training(run: Run, target: str | Path) -> Path:
    """Draw validation quality and the parts of the loss over training time."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("Drawing", "plot") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    if not run.history:
        raise InputError("There is nothing to draw yet: the run has not been validated once.")
    target = Path(target)
    seconds = [record.seconds for record in run.history]
    figure, (above, below) = plt.subplots(
        2, 1, sharex=True, figsize=(8, 5), height_ratios=(3, 2), layout="constrained"
    )
    for key, label in (("hits@10", "Hits@10"), ("mrr", "MRR"), ("hits@1", "Hits@1")):
        points = [(r.seconds, r.metrics[key]) for r in run.history if key in r.metrics]
        if points:
            above.plot(*zip(*points, strict=True), marker="o", markersize=3, label=label)
    if run.best is not None:
        above.axvline(run.best.seconds, color="0.6", linestyle=":", label="state kept")
    above.set_ylabel(f"on {run.summary.validation_sample:,} validation triples")
    above.set_ylim(bottom=0)
    above.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    settings = run.settings
    above.set_title(f"{settings.model}, d = {settings.dim}, on {run.graph.name}")
    for name in run.history[0].losses:
        below.plot(seconds, [record.losses[name] for record in run.history], label=name)
    below.set_ylabel("loss of a batch")
    below.set_xlabel(f"seconds of training ({run.summary.threads} threads)")
    below.set_xlim(left=0)
    below.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    return _saved(plt, figure, target)


def plot_reliability(qualities: Mapping[str, Quality], target: str | Path) -> Path:
    """Draw what probabilities say against what is true, one line for each quality."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("Drawing", "plot") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    target = Path(target)
    figure, (above, below) = plt.subplots(
        2, 1, sharex=True, figsize=(5.5, 6.5), height_ratios=(3, 1), layout="constrained"
    )
    above.plot([0, 1], [0, 1], color="0.6", linestyle=":", label="perfect")
    for name, quality in qualities.items():
        said = [part.probability for part in quality.bins]
        label = f"{name} (error {quality.calibration_error:.3f})"
        above.plot(said, [part.share for part in quality.bins], marker="o", label=label)
        shares = [part.count / quality.count for part in quality.bins]
        below.plot(said, shares, marker="o", markersize=3)
    above.set_ylabel("share that is true")
    above.set_ylim(-0.02, 1.02)
    above.legend(frameon=False, fontsize="small")
    below.set_ylabel("share of triples")
    below.set_ylim(bottom=0)
    below.set_xlabel("probability given")
    below.set_xlim(-0.02, 1.02)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    return _saved(plt, figure, target)


def _saved(plt: Any, figure: Any, target: Path) -> Path:
    """The picture in a file, whose suffix tells the format."""
    try:
        kind = target.suffix.removeprefix(".") or "png"
        write_whole(target, lambda path: figure.savefig(path, format=kind, dpi=130))
    except (WriteError, ValueError) as error:
        raise InputError(f"The picture cannot be written to {target}: {error}") from None
    finally:
        plt.close(figure)
    return target

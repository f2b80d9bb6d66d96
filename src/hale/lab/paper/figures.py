"""The paper's figures, drawn from finished cells (extra 'plot', t-SNE 'paper')."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hale.data.files import write_text, write_whole
from hale.engine.activations import ACTIVATIONS, Activation, make_activation
from hale.errors import MissingExtraError
from hale.lab.paper.cells import Filled
from hale.lab.paper.damaged import read_or_miss
from hale.lab.paper.declaration import Entry, Experiment
from hale.lab.paper.experiments import BETAS, CURVE_SETS
from hale.lab.paper.table_rows import longest
from hale.runs.run import Run

POINTS = 1500  # entities drawn in a picture of vectors


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("Drawing", "plot") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def draw_functions(target: Path, others: Mapping[str, Activation] = {}) -> None:
    """Figure 2: h and h' of every activation over the scaled squared distance.

    ``others`` are drawn beside them, in strong lines, each in a style of its own.
    """
    plt = _pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    x = torch.linspace(0, 4, 400)
    for name in ACTIVATIONS:
        value, slope = make_activation(name, beta=BETAS.get(name, 3.0), gamma=10.0).value_and_slope(
            x
        )
        left.plot(x, value, label=name)
        right.plot(x, slope, label=name)
    for (name, other), style in zip(others.items(), cycle(("-", "--", ":", "-.")), strict=False):
        value, slope = other.value_and_slope(x)
        left.plot(x, value, style, label=name, color="black", linewidth=2.5)
        right.plot(x, slope, style, label=name, color="black", linewidth=2.5)
    left.set_ylim(0, 12)
    right.set_ylim(0, 12)
    left.set_title("h(x), gamma = 10, beta = 3 (Hanon) and 10 (Halin)")
    right.set_title("h'(x)")
    for axes in (left, right):
        axes.set_xlabel("scaled squared distance x")
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    right.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _save(plt, figure, target)


def draw_curves(
    experiment: Experiment,
    finished: Mapping[str, Filled],
    target: Path,
    marked: Mapping[str, str] | None = None,
) -> bool:
    """Figure 3: Hits@10 over seconds, strategies above, activations below; False if no cell is.

    ``marked`` says of cells, by key, what is wrong with them; their curves are dotted and say so.
    """
    plt = _pyplot()
    figure, grid = plt.subplots(
        2, len(CURVE_SETS), figsize=(13, 7), layout="constrained", squeeze=False
    )
    drawn = False
    for row, group in enumerate(("strategies", "activations")):
        names = dict.fromkeys(entry.row for entry in experiment.entries if entry.group == group)
        colours = {name: f"C{place}" for place, name in enumerate(names)}  # the same in all panels
        for column, dataset in enumerate(CURVE_SETS):
            axes = grid[row][column]
            for entry in experiment.entries:
                if (entry.group, entry.cell.dataset) != (group, dataset):
                    continue
                cell = longest(experiment.name, entry, finished)
                if cell is None:
                    continue
                seconds = [point["seconds"] for point in cell.curve]
                hits = [point["hits@10"] for point in cell.curve]
                fault = (marked or {}).get(cell.key, "")
                style = {"color": colours[entry.row], "linestyle": ":" if fault else "-"}
                axes.plot(seconds, hits, label=_label(entry, cell, fault), **style)
                drawn = True
            if not axes.lines:
                _say(axes, "not run")
            axes.set_title(dataset)
            axes.set_ylim(bottom=0)
            axes.grid(alpha=0.25)
            axes.spines[["top", "right"]].set_visible(False)
            if row == 1:
                axes.set_xlabel("seconds of training")
            if column == 0:
                axes.set_ylabel(f"{group}: Hits@10")
        handles = {label: h for axes in grid[row] for h, label in _handles(axes)}
        if handles:
            grid[row][-1].legend(
                handles.values(), handles, frameon=False, loc="upper left", bbox_to_anchor=(1, 1)
            )
    if drawn:
        _save(plt, figure, target)
    plt.close(figure)
    return drawn


def _say(axes: Any, text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", alpha=0.6)


def _handles(axes: Any) -> list[tuple[Any, str]]:
    return list(zip(*axes.get_legend_handles_labels(), strict=True))


def _label(entry: Entry, cell: Filled, fault: str) -> str:
    told = [f"x {cell.scale:g}"] if cell.scale < 1 else []
    told += [fault] if fault else []
    settings = cell.settings
    squared = settings.get("strategy") != "hale" or settings.get("square", True)
    name = entry.row if squared else f"{entry.row} §"
    return f"{name} ({', '.join(told)})" if told else name


def project_points(run: Run, target: Path, *, finished: str, seed: int = 0) -> None:
    """Two coordinates by t-SNE for some entities of a run, the same ones for every run."""
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise MissingExtraError("t-SNE", "paper") from None
    vectors = run.model.places().detach().cpu().numpy()
    draws = np.random.default_rng(seed)
    chosen = np.sort(draws.choice(len(vectors), min(POINTS, len(vectors)), replace=False))
    tsne = TSNE(n_components=2, init="pca", random_state=seed)
    points = tsne.fit_transform(vectors[chosen].astype(np.float64))
    content = {
        "graph": run.graph.name,
        "finished": finished,  # the cell that these points are of
        "entities": chosen.tolist(),
        "points": np.round(points, 2).tolist(),
    }
    text = json.dumps(content) + "\n"
    write_text(target, text)


def read_points(path: Path) -> dict[str, Any] | None:
    """What project_points wrote; None where there is nothing, or it is damaged."""
    return read_or_miss(path, _points_in) if path.is_file() else None


def _points_in(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text(encoding="utf-8"))
    points = np.array(content["points"], dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise ValueError("points are pairs of numbers")
    return {"finished": str(content["finished"]), "points": points}


def draw_points(
    experiment: Experiment, places: Mapping[str, tuple[Path, str]], target: Path
) -> bool:
    """Figure 4: a column per strategy, a row per data set.

    ``places`` maps systems to files of points and what is to be said of them.
    """
    plt = _pyplot()
    rows = list(dict.fromkeys(entry.cell.dataset for entry in experiment.entries))
    columns = list(dict.fromkeys(entry.row for entry in experiment.entries))
    size = (3 * len(columns), 3 * len(rows))
    figure, grid = plt.subplots(len(rows), len(columns), figsize=size, squeeze=False)
    drawn = False
    for entry in experiment.entries:
        axes = grid[rows.index(entry.cell.dataset)][columns.index(entry.row)]
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_title(f"{entry.cell.dataset}, {entry.row}", fontsize=9)
        place = places.get(f"{entry.cell.dataset}-{entry.cell.system}")
        kept = None if place is None else read_points(place[0])
        if place is None or kept is None:
            _say(axes, "no points")
            continue
        if place[1]:
            axes.set_title(f"{entry.cell.dataset}, {entry.row}\n({place[1]})", fontsize=9)
        points = kept["points"]
        axes.scatter(points[:, 0], points[:, 1], s=2, linewidths=0, rasterized=True)
        drawn = True
    if drawn:
        figure.tight_layout()
        _save(plt, figure, target)
    plt.close(figure)
    return drawn


def _save(plt: Any, figure: Any, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    vector = target.with_suffix(".svg")
    write_whole(target, lambda path: figure.savefig(path, format="png", dpi=110))
    with plt.rc_context({"svg.hashsalt": target.stem}):  # the same picture, the same file
        write_whole(
            vector, lambda path: figure.savefig(path, format="svg", metadata={"Date": None})
        )
    plt.close(figure)


__all__: Sequence[str] = (
    "draw_curves",
    "draw_functions",
    "draw_points",
    "project_points",
    "read_points",
)

"""The page of results: all finished cells, rendered, with their figures beside it."""

from __future__ import annotations

from pathlib import Path

from hale.experiments.cells import Filled, read_cells
from hale.experiments.declared import EXPERIMENTS, Experiment
from hale.experiments.figures import draw_curves, draw_functions, draw_points, project_points
from hale.experiments.render import best_of, render_page
from hale.run import load_run
from hale.store import SETTINGS, replace_whole


def write_page(results: Path, work: Path, *, points: bool = False) -> Path:
    """Write reproduction.md and the figures; with ``points`` also project new entity vectors."""
    results.mkdir(parents=True, exist_ok=True)
    cells = results / "cells"
    finished = read_cells(cells)
    figures = {}
    for experiment in EXPERIMENTS.values():
        target = results / f"{experiment.name}.png"
        drawn = False
        if experiment.kind == "functions":
            draw_functions(target)
            drawn = True
        elif experiment.kind == "curves":
            drawn = draw_curves(experiment, finished, target)
        elif experiment.kind == "points":
            places = _places(experiment, finished, cells, work, project=points)
            drawn = draw_points(experiment, places, target)
        if drawn:
            figures[experiment.name] = target.name
    page = results / "reproduction.md"
    text = render_page(EXPERIMENTS.values(), finished, figures)
    replace_whole(page, lambda path: path.write_text(text))
    return page


def _places(
    experiment: Experiment, finished: dict[str, Filled], cells: Path, work: Path, *, project: bool
) -> dict[str, Path]:
    """The files of points by system; made from the runs that are still there if asked for."""
    places = {}
    for entry in experiment.entries:
        for cell in best_of(entry.cell, finished.values())[:1]:
            place = cells / f"{cell.key}.points.json"
            if project and not place.exists() and (work / cell.key / SETTINGS).is_file():
                project_points(load_run(work / cell.key), place)
            if place.exists():
                places[f"{cell.dataset}-{cell.system}"] = place
    return places

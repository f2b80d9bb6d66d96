"""The page of results: all finished cells, rendered, with their figures beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from hale.data.files import make_folder, write_text
from hale.errors import MissingExtraError
from hale.lab.paper.cells import Filled, read_cells
from hale.lab.paper.declaration import Experiment
from hale.lab.paper.experiments import EXPERIMENTS
from hale.lab.paper.figures import (
    draw_curves,
    draw_functions,
    draw_points,
    project_points,
    read_points,
)
from hale.lab.paper.plan import standing
from hale.lab.paper.rank_files import read_ranks, read_triples
from hale.lab.paper.relation_page import render_relations
from hale.lab.paper.render import render_page
from hale.lab.paper.searches import search_of
from hale.lab.paper.table_rows import longest
from hale.runs.header import SETTINGS
from hale.runs.run import load_run

BUSY = 0.9  # of its threads' time: with less, training had to wait for others


def write_page(results: Path, work: Path, *, points: bool = False) -> tuple[Path, list[str]]:
    """Write the page and its figures; what could not be drawn is said beside it.

    With ``points`` entity vectors that were not projected yet are.
    """
    make_folder(results)
    cells = results / "cells"
    finished = read_cells(cells)
    experiments = EXPERIMENTS.values()
    figures, notes = {}, []
    marked = faults_of(finished)
    for experiment in experiments:
        target = results / f"{experiment.name}.png"
        try:
            if _draw(experiment, finished, cells, work, target, marked, points=points):
                figures[experiment.name] = target.name
        except MissingExtraError as error:
            notes.append(f"{experiment.name} was not drawn: {error}")
    page = results / "reproduction.md"
    ranks_of = partial(read_ranks, cells)
    text = render_page(experiments, finished, figures, ranks_of, marked)
    write_text(page, text)
    triples_of = partial(read_triples, cells)
    by_relation = render_relations(experiments, finished, ranks_of, triples_of, marked)
    write_text(results / "reproduction-relations.md", by_relation)
    return page, notes


def faults_of(finished: Mapping[str, Filled]) -> dict[str, str]:
    """What is wrong with finished cells of the plan, by key."""
    found = {}
    for wanted in standing(finished):
        filled = finished.get(wanted.key)
        if filled is None:
            continue
        search = search_of(wanted.cell)
        share = None if search is None else search.cpu_share()
        told = {
            "stale": wanted.state == "stale",
            "not checked": wanted.state == "unknown",
            "not searched alike": not wanted.fair,
            "changed code": filled.commit.endswith("+"),
            "busy machine": filled.cpu_share is not None and filled.cpu_share < BUSY,
            "searched on a busy machine": share is not None and share < BUSY,
        }
        if any(told.values()):
            found[filled.key] = ", ".join(fault for fault, has in told.items() if has)
    return found


def _draw(
    experiment: Experiment,
    finished: dict[str, Filled],
    cells: Path,
    work: Path,
    target: Path,
    marked: Mapping[str, str],
    *,
    points: bool,
) -> bool:
    """Draw a figure; False if there is nothing to draw."""
    if experiment.kind == "functions":
        draw_functions(target)
        return True
    if experiment.kind == "curves":
        return draw_curves(experiment, finished, target, marked)
    if experiment.kind == "points":
        places = _places(experiment, finished, cells, work, marked, project=points)
        return draw_points(experiment, places, target)
    return False


def _places(
    experiment: Experiment,
    finished: dict[str, Filled],
    cells: Path,
    work: Path,
    marked: Mapping[str, str],
    *,
    project: bool,
) -> dict[str, tuple[Path, str]]:
    """The files of points by system, and what is to be said of them; new ones are made if asked."""
    places = {}
    for entry in experiment.entries:
        cell = longest(experiment.name, entry, finished)
        if cell is None:
            continue
        place = cells / f"{cell.key}.points.json"
        kept = read_points(place)
        if kept is not None and kept["finished"] != cell.finished:
            place.unlink()
            kept = None
        if project and kept is None and (work / cell.key / SETTINGS).is_file():
            project_points(load_run(work / cell.key), place, finished=cell.finished)
            kept = read_points(place)
        if kept is not None:
            told = [f"x {cell.scale:g}"] if cell.scale < 1 else []
            told += [marked[cell.key]] if cell.key in marked else []
            places[f"{cell.dataset}-{cell.system}"] = place, ", ".join(told)
    return places

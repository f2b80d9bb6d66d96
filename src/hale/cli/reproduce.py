"""hale reproduce."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hale.cli import INTERRUPTED
from hale.cli.app import err, out, print_json, reporting
from hale.cli.options import Json, Threads
from hale.errors import HaleError, InputError, UnknownNameError

if TYPE_CHECKING:
    from hale.lab.paper import Entry

RESULTS = Path("docs/results")
SOURCE = Path("src/hale")
PLANNED = "planned"


@reporting
def reproduce(
    what: Annotated[
        str | None,
        typer.Argument(
            help="table3, table4, table5, figure2, figure3, figure4, improvements, best, or "
            "planned: all cells of the plan that are missing or stale, each at its share of "
            "the time.",
            metavar="WHAT",
        ),
    ] = None,
    dataset: Annotated[str, typer.Option("--dataset", help="Some data sets, by comma.")] = "",
    model: Annotated[str, typer.Option("--model", help="Some models, by comma.")] = "",
    strategy: Annotated[str, typer.Option("--strategy", help="Some strategies, by comma.")] = "",
    system: Annotated[
        str, typer.Option("--system", help="Some systems as cells name them: hale-rotl-no-square.")
    ] = "",
    scale: Annotated[
        float, typer.Option("--scale", help="Share of the paper's time.", min=0.0001, max=1)
    ] = 1.0,
    seeds: Annotated[int, typer.Option("--seeds", help="Number of seeds.", min=1)] = 1,
    results: Annotated[
        Path, typer.Option("--out", help="Folder of the page, its figures and cells/.")
    ] = RESULTS,
    work: Annotated[
        Path, typer.Option("--runs", help="Folder of the runs behind the cells.")
    ] = Path("runs/reproduce"),
    only_list: Annotated[
        bool, typer.Option("--list", help="Show the cells and the time they take; run nothing.")
    ] = False,
    render: Annotated[
        bool, typer.Option("--render", help="Render what is finished; run nothing.")
    ] = False,
    status: Annotated[
        bool,
        typer.Option(
            "--status",
            help="List what the plan lacks: missing, stale or not searched alike; and cells that "
            "it does not have.",
        ),
    ] = False,
    search: Annotated[
        bool,
        typer.Option("--tune", help="Search the settings of the rows, all alike, into --source."),
    ] = False,
    source: Annotated[
        Path, typer.Option("--source", help="The package's own folder, which --tune writes into.")
    ] = SOURCE,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Fill a table or figure of the paper, or a slice of it, and render what is finished.

    Each system is a cell: a file with its settings, seed, machine, commit, curve and metrics, and
    one with the ranks of its triples. Finished cells are skipped, stale ones are made again, and a
    cell that was killed goes on where it stopped. So does a search (--tune). The page has the cells
    of the plan; at another share of the time, or with more seeds, a cell is a file and no row. The
    rows of the paper's tables have their settings by such searches, improvements and best by
    recipes; of the plan, rows that were not searched yet are left out.
    """
    from hale.cli.progress import LiveProgress
    from hale.cli.reproduction import run_searches, show_status
    from hale.engine.device import use_threads
    from hale.lab.paper import EXPERIMENTS, fill, is_current, read_cells
    from hale.lab.paper.page import write_page
    from hale.lab.paper.plan import is_searched, planned, state_of, unplanned

    use_threads(threads)
    if what is not None and what not in (*EXPERIMENTS, PLANNED):
        raise UnknownNameError("table or figure", what, (*EXPERIMENTS, PLANNED))
    if what is None and not (render or only_list or status):
        raise InputError(f"Name a table or figure: {', '.join(EXPERIMENTS)}; or ask for --render.")
    from hale.models import MODELS
    from hale.objectives import OBJECTIVES

    declared = [entry.cell for e in EXPERIMENTS.values() for entry in e.entries]
    for kind, asked, names in (
        ("data set", dataset, {cell.dataset for cell in declared}),
        ("model", model, MODELS),
        ("strategy", strategy, OBJECTIVES),
        ("system", system, {cell.system for cell in declared}),
    ):
        for name in _names(asked):
            if name not in names:
                raise UnknownNameError(kind, name, names)
    if status:
        show_status(results, as_json=as_json)
        return
    chosen: list[Entry] = []
    for name, experiment in EXPERIMENTS.items():
        if what in (None, name, PLANNED):
            chosen += experiment.select(
                _names(dataset), _names(model), _names(strategy), _names(system)
            )
    if what in EXPERIMENTS and not chosen and EXPERIMENTS[what].entries:
        raise InputError(f"No cell of {what} has that data set, model, strategy and system.")
    cells = {
        entry.cell.key(seed, scale): (entry.cell, seed, scale)
        for seed in range(seeds)
        for entry in chosen
    }
    if what == PLANNED:
        wanted = {entry.cell for entry in chosen}
        cells = {c.key(seed, x): (c, seed, x) for c, seed, x in planned() if c in wanted}
    if search:
        run_searches([cell for cell, _, _ in cells.values()], work, source)
        return
    finished = read_cells(results / "cells")
    if only_list:
        states = {
            key: state_of(c, finished[key]) for key, (c, _, _) in cells.items() if key in finished
        }
        _list({k: c.seconds * share for k, (c, _, share) in cells.items()}, states)
        return
    failed: list[str] = []
    if not render:
        for number, (key, (cell, seed, share)) in enumerate(cells.items(), start=1):
            err.print(f"{number}/{len(cells)} {key}", end=": ")
            try:
                if key in finished and is_current(cell, finished[key]):
                    err.print("finished before")
                    continue
                if what == PLANNED and not is_searched(cell):
                    err.print(
                        "left out: its row has not been searched (--tune), and would be stale"
                    )
                    continue
                err.print(f"{cell.seconds * share:,.0f} s of training")
                with LiveProgress(err).live() as progress:
                    filled = fill(
                        cell,
                        seed=seed,
                        scale=share,
                        folder=results / "cells",
                        work=work,
                        observer=progress,
                    )
            except HaleError as error:  # the other cells can be filled all the same
                err.print(f"failed: {error}", style="red")
                failed.append(key)
                continue
            if filled is None:
                err.print("interrupted; the same command goes on from here")
                raise typer.Exit(INTERRUPTED)
            finished[key] = filled
            err.print(f"  test MRR {filled.metrics['mrr']:.4f}")
    page, notes = write_page(results, work, points=what in (None, PLANNED, "figure4"))
    others = sorted(cells.keys() & set(unplanned(finished)))
    if others:
        notes.append(f"the page has the cells of the plan, without {', '.join(others)}")
    for note in notes:
        err.print(f"warning: {note}", style="yellow")
    if as_json:
        rows = [{"key": key, **finished[key].metrics} for key in cells if key in finished]
        print_json({"page": str(page), "cells": rows, "failed": failed})
    else:
        out.print(f"page: {page}")
    if failed:
        raise HaleError(f"{len(failed)} of {len(cells)} cells failed: {', '.join(failed)}.")


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _list(seconds: dict[str, float], states: Mapping[str, str]) -> None:
    from hale.cli.tables import listing

    lines = [(key, f"{time:,.0f}", states.get(key, "")) for key, time in seconds.items()]
    out.print(listing(("cell", "seconds", "state"), lines, right=["seconds"]))
    left = sum(time for key, time in seconds.items() if states.get(key) != "finished")
    out.print(f"{len(seconds)} cells, {left / 3600:.1f} h of training left")

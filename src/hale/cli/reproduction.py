"""What hale reproduce tells and searches: how the plan stands, and settings for its rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from hale.cli.app import err, out, print_json
from hale.errors import HaleError, InputError

if TYPE_CHECKING:
    from hale.lab.paper import Cell


def show_status(results: Path, *, as_json: bool) -> None:
    """What the plan lacks, the hours that it would take, and cells that it does not have."""
    from hale.cli.tables import listing
    from hale.lab.paper import read_cells
    from hale.lab.paper.plan import searches_left, standing, unplanned

    finished = read_cells(results / "cells")
    plan, searches, others = standing(finished), searches_left(), unplanned(finished)
    hours = sum(wanted.seconds for wanted in plan) / 3600
    searching = sum(search.seconds for search in searches) / 3600
    lacking = [wanted for wanted in plan if wanted.state != "finished" or not wanted.fair]
    if as_json:
        print_json(
            {
                "cells": [
                    {"key": w.key, "state": w.state, "fair": w.fair, "seconds": w.seconds}
                    for w in plan
                ],
                "not planned": others,
                "searches": [{"key": s.key, "seconds": s.seconds} for s in searches],
                "hours": {"cells": hours, "searches": searching},
            }
        )
        return
    lines: list[tuple[str, str, str, str]] = [
        (w.key, w.state, "" if w.fair else "not searched alike", f"{w.seconds:,.0f}")
        for w in lacking
    ]
    lines += [(key, "not planned", "can be deleted", "") for key in others]
    out.print(listing(("cell", "state", "", "seconds"), lines, right=["seconds"]))
    counts = {
        state: sum(w.state == state for w in plan)
        for state in ("finished", "missing", "stale", "unknown")
    }
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    out.print(f"{len(plan)} cells planned: {told}; {hours:.1f} h of training left (planned)")
    if others:
        out.print(f"{len(others)} cells are in no plan: no table shows them")
    out.print(f"{len(searches)} searches left, {searching:.1f} h at most (planned --tune)")
    out.print("validation comes to these: up to a fifth of a cell, more of a slow model's trials")


def run_searches(cells: Iterable[Cell], work: Path, source: Path) -> None:
    """Search the settings of cells' rows, each once; those that are done are left alone."""
    from hale.lab.paper.run_search import run_search
    from hale.lab.paper.searches import TRIALS, search_of

    if not (source / "lab" / "paper").is_dir():
        raise InputError(f"{source} is not hale's own folder, src/hale: name it (--source).")
    searches = {found.key: found for cell in cells if (found := search_of(cell)) is not None}
    for number, (key, search) in enumerate(searches.items(), start=1):
        err.print(f"{number}/{len(searches)} {key}", end=": ")
        if search.is_done(source):
            err.print("searched before")
            continue
        err.print(f"{TRIALS} trials of {search.trial:g} s")
        try:
            tuned = run_search(search, work=work, home=source, announce=err.print)
        except HaleError as error:  # the other rows can be searched all the same
            err.print(f"error: {error}", style="red")
            continue
        out.print(f"{key}: validation MRR {tuned.mrr:.4f}, in {search.file(source)}")

"""hale show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hale.cli.app import err, out, print_json, reporting
from hale.cli.options import Json
from hale.errors import InputError


@reporting
def show(
    run: Annotated[Path | None, typer.Argument(help="Folder of a run.", metavar="RUN")] = None,
    engine: Annotated[
        bool, typer.Option("--engine", help="Tell which engine runs here, and why.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the training curve to this file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a run: its graph, settings, how training went, and its metrics."""
    if engine:
        _show_engine(as_json)
        return
    if run is None:
        raise InputError("Name the folder of a run, or ask for --engine.")
    from hale.cli.tables import metrics_table, settings_table
    from hale.runs.run import load_run

    loaded = load_run(run)
    if plot is not None:
        from hale.cli.plots import plot_training

        plot_training(loaded, plot)
        err.print(f"drawn: {plot}")
    about = loaded.as_dict()
    if as_json:
        print_json({"run": str(run), **about})
        return
    out.print(f"{loaded.graph!r}, {about['parameters']:,} parameters")
    out.print(settings_table(about["settings"], "settings"))
    out.print(settings_table(about["training"], "training"))
    reports = {f"{name} split": report for name, report in loaded.metrics.items()}
    if loaded.best is not None and loaded.best.metrics:
        reports["validation sample"] = dict(loaded.best.metrics)
    if reports:
        out.print(metrics_table(reports, "metrics, filtered, both directions"))


def _show_engine(as_json: bool) -> None:
    from hale.engine import current
    from hale.engine.device import use_threads

    found = current()
    threads = use_threads(None)
    if as_json:
        print_json({"engine": found.name, "why": found.why, "threads": threads})
        return
    out.print(f"engine: {found.name} ({found.why}), {threads} threads")

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
    relations: Annotated[
        bool,
        typer.Option("--relations", help="Tell what training facts say of each relation."),
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
    from hale.cli.relations import relations_table
    from hale.cli.tables import metrics_table, settings_table, without_rule
    from hale.runs.run import load_run

    loaded = load_run(run)
    if relations:
        graph = loaded.graph
        if as_json:
            told = {r: graph.profiles.of(i)._asdict() for i, r in enumerate(graph.relations.names)}
            print_json({"run": str(run), "relations": told})
            return
        out.print(relations_table(graph, f"{graph.name}: {len(graph.train):,} training facts"))
        ruled = "are ranked by" if loaded.settings.cardinality else "do not use"
        out.print(
            "delta: nats by which an entity that has such a fact already stands back as an answer "
            f"to another question of it; this run's answers {ruled} it (--cardinality)"
        )
        return
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
    reports = {}
    for name, report in loaded.metrics.items():
        reports[f"{name} split"] = report
        reports |= {f"{name}, {which}": row for which, row in without_rule(report).items()}
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

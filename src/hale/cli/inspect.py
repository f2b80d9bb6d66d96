"""hale evaluate, show and datasets."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hale.cli.common import (
    Device,
    Json,
    RunPath,
    app,
    err,
    load_graph,
    out,
    print_json,
    reporting,
)
from hale.errors import InputError, RunError


@app.command()
@reporting
def evaluate(
    run: RunPath,
    split: Annotated[str, typer.Option("--split", help="train, valid or test.")] = "test",
    ties: Annotated[
        str, typer.Option("--ties", help="mean, optimistic or pessimistic rank of ties.")
    ] = "mean",
    by_relation: Annotated[
        bool, typer.Option("--by-relation", help="A row for each relation as well.")
    ] = False,
    device: Device = "auto",
    threads: Annotated[int | None, typer.Option("--threads", help="CPU threads.", min=1)] = None,
    as_json: Json = False,
) -> None:
    """Rank a split of a run's graph: filtered, over all entities, in both directions."""
    from hale.cli.progress import metrics_table
    from hale.engine.device import use_threads
    from hale.evaluation.evaluator import evaluate as evaluate_run
    from hale.runs.run import load_run

    use_threads(threads)
    loaded = load_run(run, device=device)
    report = evaluate_run(loaded, split, ties=ties).as_dict()  # type: ignore[arg-type]
    if as_json:
        print_json({"run": str(run), **report})
    else:
        rows = {"both directions": report, **report["by_direction"]}
        if by_relation:
            rows |= report["by_relation"]
        out.print(metrics_table(rows, f"{loaded.graph.name}, {split} split, filtered"))
    if ties == "mean":
        try:
            loaded.save_metrics(split, report)
        except RunError as error:  # a shared run that only others may write to
            err.print(f"warning: not kept with the run: {error}", style="yellow")


@app.command()
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
    from hale.cli.plots import plot_training
    from hale.cli.progress import metrics_table, settings_table
    from hale.runs.run import load_run

    loaded = load_run(run)
    if plot is not None:
        plot_training(loaded, plot)
        err.print(f"drawn: {plot}")
    settings = loaded.settings.model_dump(mode="json")
    parameters = sum(parameter.numel() for parameter in loaded.model.parameters())
    if as_json:
        print_json(
            {
                "run": str(run),
                "graph": loaded.graph.name,
                "entities": len(loaded.graph.entities),
                "relations": len(loaded.graph.relations),
                "parameters": parameters,
                "settings": settings,
                "training": asdict(loaded.summary),
                "history": [asdict(record) for record in loaded.history],
                "metrics": loaded.metrics,
            }
        )
        return
    out.print(f"{loaded.graph!r}, {parameters:,} parameters")
    out.print(settings_table(settings, "settings"))
    out.print(settings_table(asdict(loaded.summary), "training"))
    reports = {f"{name} split": report for name, report in loaded.metrics.items()}
    if loaded.best is not None and loaded.best.metrics:
        reports["validation sample"] = dict(loaded.best.metrics)
    if reports:
        out.print(metrics_table(reports, "metrics, filtered, both directions"))


@app.command()
@reporting
def datasets(
    fetch: Annotated[
        str | None, typer.Option("--fetch", help="Download this data set now.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the named data sets, their sizes and where they are."""
    from rich.table import Table

    from hale.data.datasets import CATALOG, locate
    from hale.errors import UnknownNameError

    if fetch is not None:
        if fetch not in CATALOG:
            raise UnknownNameError("data set", fetch, CATALOG)
        load_graph(fetch)
    rows = []
    for dataset in CATALOG.values():
        place = locate(dataset.name)
        rows.append(
            {
                "name": dataset.name,
                "about": dataset.about,
                "entities": dataset.num_entities,
                "relations": dataset.num_relations,
                **dict(zip(("train", "valid", "test"), dataset.counts, strict=True)),
                "licence": dataset.licence,
                "present": place is not None,
                "where": place.source if place else "download",
            }
        )
    if as_json:
        print_json({"datasets": rows})
        return
    table = Table(box=None, header_style="bold")
    for column in ("name", "entities", "relations", "train", "valid", "test", "where", "about"):
        table.add_column(
            column, justify="left" if column in ("name", "where", "about") else "right"
        )
    for row in rows:
        numbers = (f"{row[key]:,}" for key in ("entities", "relations", "train", "valid", "test"))
        table.add_row(str(row["name"]), *numbers, str(row["where"]), str(row["about"]))
    out.print(table)


def _show_engine(as_json: bool) -> None:
    from hale.engine import current
    from hale.engine.device import use_threads

    found = current()
    threads = use_threads(None)
    if as_json:
        print_json({"engine": found.name, "why": found.why, "threads": threads})
        return
    out.print(f"engine: {found.name} ({found.why}), {threads} threads")

"""hale evaluate."""

from __future__ import annotations

from typing import Annotated

import typer

from hale.cli.app import err, out, print_json, reporting
from hale.cli.options import Device, Json, RunPath, Threads
from hale.errors import RunError


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
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Rank a split of a run's graph: filtered, over all entities, in both directions."""
    from hale.cli.progress import query_progress
    from hale.cli.tables import metrics_table
    from hale.engine.device import use_threads
    from hale.evaluation.evaluator import evaluate as evaluate_run
    from hale.runs.run import load_run

    use_threads(threads)
    loaded = load_run(run, device=device)
    with query_progress(err, "triples") as follow:
        report = evaluate_run(loaded, split, ties=ties, follow=follow).as_dict()  # type: ignore[arg-type]
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

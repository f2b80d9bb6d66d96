"""hale compress."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hale.cli import INTERRUPTED
from hale.cli.app import err, out, print_json, reporting
from hale.cli.options import Json, RunPath, option, settings_options

TAKEN = (
    *("dim", "budget", "epochs", "model", "strategy", "teacher", "distillation"),
    *("teacher_weight", "teacher_queries", "teacher_absent", "teacher_top"),
    *("teacher_temperature", "learning_rate", "seed", "threads", "device"),
)


@reporting
@settings_options(
    *TAKEN,
    texts={"teacher": "Another run to learn from beside RUN; may be given several times."},
    defaults={"model": "RUN's", "strategy": "RUN's"},
)
def compress(
    run: RunPath,
    *,
    out_folder: Annotated[
        Path | None, option("Folder for the new run.", "beside RUN, with its dim", "--out")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run in --out.")
    ] = False,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Train a smaller model of RUN's graph that learns from its answers.

    The same as `hale train GRAPH --teacher RUN`, on the graph that RUN has: a model of --dim
    numbers an entity, beside RUN's in the table that is printed.
    """
    from hale.cli.progress import LiveProgress
    from hale.cli.tables import metrics_table
    from hale.data.files import free_folder
    from hale.evaluation.evaluator import evaluate, sample_of
    from hale.runs.run import load_run
    from hale.training.start import train as train_run

    teacher = load_run(run)
    asked: dict[str, Any] = {
        "model": teacher.settings.model,
        "strategy": teacher.settings.strategy,
        **given,
        "teacher": [str(run), *given.get("teacher", [])],
    }
    dim = asked.setdefault("dim", 32)
    place = out_folder or free_folder(run.resolve().parent, f"{run.resolve().name}-{dim}")
    with LiveProgress(err).live() as progress:
        made = train_run(teacher.graph, out=place, overwrite=overwrite, observer=progress, **asked)
        if made.summary.stopped_by == "interrupt":
            err.print(f"saved in {made.path}; go on with: hale train --resume --out {made.path}")
            raise typer.Exit(INTERRUPTED)
        split = next((name for name in ("test", "valid") if len(made.graph.split(name))), None)
        rows: dict[str, Any] = {}
        if split is not None:
            some = sample_of(made.model, len(made.graph.split(split)))
            for name, one in (("teacher", teacher), ("student", made)):
                rows[f"{name}, d = {one.settings.dim}"] = evaluate(
                    one, split, sample=some
                ).as_dict()
            made.save_metrics(split, rows[f"student, d = {made.settings.dim}"])
    if as_json:
        print_json({"run": str(made.path), "split": split, **rows})
        return
    if rows:
        out.print(metrics_table(rows, f"{made.graph.name}, {split} split, filtered"))
    out.print(f"run:  {made.path}")

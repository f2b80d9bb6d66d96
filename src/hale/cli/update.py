"""hale update."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from hale.cli import INTERRUPTED
from hale.cli.app import err, out, print_json, reporting
from hale.cli.options import Columns, Json, RunPath, Weights, option, settings_options


@reporting
@settings_options(
    *("budget", "epochs", "threads", "device"),
    texts={
        "budget": "Seconds of training (30s, 5m).",
        "epochs": "Passes over the new facts.",
    },
    defaults={
        "budget": "30s, without --epochs",
        "threads": "as the run's",
        "device": "as the run's",
    },
)
def update(
    run: RunPath,
    facts: Annotated[
        Path | None, typer.Argument(help="File of triples to add.", metavar="[FACTS]")
    ] = None,
    *,
    remove: Annotated[
        Path | None, typer.Option("--remove", help="File of triples to remove.")
    ] = None,
    out_folder: Annotated[
        Path | None, option("Folder for the new run.", "beside RUN, the next free name", "--out")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run in --out, which may be RUN.")
    ] = False,
    holdout: Annotated[
        str,
        typer.Option(
            "--holdout",
            help="Share of the new facts for each of valid and test, or a file of new facts to "
            "test on.",
        ),
    ] = "0",
    anchor: Annotated[
        float | None, option("Weight of the penalty on known rows that move.", 0.01, "--anchor")
    ] = None,
    focus: Annotated[
        float | None,
        option("How often a new fact is seen for each time an old one is.", 0.6, "--focus"),
    ] = None,
    rate: Annotated[
        float | None,
        option("Learning rate, as a multiple of the run's; less for small changes.", 1.5, "--rate"),
    ] = None,
    tolerance: Annotated[
        float | None,
        option(
            "MRR that old validation facts may lose before new entities withdraw.",
            0.005,
            "--tolerance",
        ),
    ] = None,
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="Leave out bad lines, and facts to remove that are not."),
    ] = False,
    columns: Columns = None,
    weights: Weights = None,
    header: Annotated[
        bool | None,
        option("Whether files have a header line.", "recognised", "--header/--no-header"),
    ] = None,
    full_evaluation: Annotated[
        bool,
        typer.Option(
            "--full-evaluation",
            help="Rank all old test facts, not what a tenth of the budget is enough for.",
        ),
    ] = False,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Add the triples of FACTS to RUN, remove others, and train for a short while."""
    from hale.cli.progress import LiveProgress
    from hale.cli.tables import metrics_table, sample_line
    from hale.cli.wall import WallTime
    from hale.data.files import free_folder
    from hale.training.update.updater import update as update_run

    wall = WallTime()
    stem = re.sub(r"-updated(-[0-9]+)?$", "", run.resolve().name)  # an update of one
    folder = out_folder or free_folder(run.parent, f"{stem}-updated")
    with LiveProgress(err).live() as progress:
        new = update_run(
            run,
            facts,
            remove=remove,
            holdout=_share(holdout),
            out=folder,
            overwrite=overwrite,
            anchor=anchor,
            focus=focus,
            rate=rate,
            tolerance=tolerance,
            columns=columns,
            header=header,
            weights=weights,
            skip_bad=skip_bad,
            full_evaluation=full_evaluation,
            copy_unchanged=out_folder is not None,
            observer=progress,
            **given,
        )
    wall.add(new.took)
    if "train" not in new.took:  # nothing was new, as the warning said
        if as_json:
            print_json({"run": str(new.path), "added": 0, "removed": 0, "wall": wall.as_dict()})
        else:
            out.print(f"run:  {new.path}, as it was")
        return
    done, summary = new.origin[-1], new.summary
    err.print(
        f"stopped by {summary.stopped_by} after {summary.seconds:.1f} s of training "
        f"({summary.epochs:.1f} epochs, {summary.steps:,} steps)"
    )
    quality = done["quality"]
    if as_json:
        print_json(
            {"run": str(new.path), **done, "training": asdict(summary), "wall": wall.as_dict()}
        )
    else:
        out.print(
            f"added {done['added']:,} facts ({done['new_entities']:,} new entities, "
            f"{done['new_relations']:,} new relations), removed {done['removed']:,}"
        )
        rows = {
            f"{name}, {when}": quality[key][when]
            for key, name in (("test", "old test facts"), ("removed", "removed facts"))
            for when in ("before", "after")
            if key in quality
        }
        if "held_out" in quality:
            rows["held-out new facts, after"] = quality["held_out"]
        if rows:
            out.print(metrics_table(rows, f"{new.graph.name}, filtered, both directions"))
        for name, report in rows.items():
            if "sample" in report:
                out.print(f"{name}: {sample_line(report)}")
        out.print(f"run:  {new.path}")
        err.print(wall.line())
    if summary.stopped_by == "interrupt":
        raise typer.Exit(INTERRUPTED)


def _share(text: str) -> float | Path:
    """A share if the text is a number, else a path."""
    try:
        return float(text)
    except ValueError:
        return Path(text)

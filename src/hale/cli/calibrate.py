"""hale calibrate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hale.cli.app import out, print_json, read_labelled_file, reporting
from hale.cli.options import Device, Json, RunPath, SkipBad
from hale.errors import InputError


@reporting
def calibrate(
    run: RunPath,
    method: Annotated[str, typer.Option("--method", help="isotonic or platt.")] = "isotonic",
    negatives: Annotated[
        Path | None,
        typer.Option("--negatives", help="File of false triples. [default: random corruptions]"),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the random corruptions.")] = 0,
    skip_bad: SkipBad = False,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Fit probabilities on the validation triples, and keep them with the run.

    A relation with 10 triples or more, validation triples and negatives together,
    has a curve and a threshold of its own; the others share one.
    """
    from hale.cli.tables import fits_table
    from hale.evaluation.calibration import calibrate as calibrate_run
    from hale.runs.run import load_run

    loaded = load_run(run, device=device)
    false = None
    if negatives is not None:
        given = read_labelled_file(negatives, loaded.graph, skip_bad)
        if given.labels is not None:
            raise InputError(f"{negatives}: a file of negatives has three columns, no labels.")
        false = given.triples
    found = calibrate_run(loaded, method=method, negatives=false, seed=seed)
    if as_json:
        print_json({"run": str(run), **found.as_dict(loaded.graph)})
        return
    out.print(fits_table(loaded, found))

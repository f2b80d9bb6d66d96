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
    negatives: Annotated[
        Path | None,
        typer.Option(
            "--negatives",
            help="File of false triples to fit against. [default: the answers to questions]",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="With --negatives: isotonic or platt. [default: isotonic]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Of the questions that are drawn.", min=0)
    ] = 0,
    skip_bad: SkipBad = False,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Fit probabilities on the validation triples, and keep them with the run.

    The queries of validation triples, and as many that lack nothing, are asked in both directions
    as `hale predict` asks them. A probability is the share of answers like it that are facts held
    out. With --negatives it says how a triple stands against those instead.
    """
    from hale.cli.tables import fits_table, reliability_table
    from hale.evaluation.calibration import ByNegatives, ByQuestions
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
    if isinstance(found, ByNegatives):
        out.print(fits_table(loaded, found))
    elif isinstance(found, ByQuestions):
        fit = found.fit
        asked = f"{fit.lacking:,} questions that lack a fact and {fit.complete:,} that lack none"
        if found.reliability is None:
            out.print(f"fitted on {asked}; too few to judge by halves")
        else:
            out.print(reliability_table(found.reliability, f"{loaded.graph.name}, {asked}"))
            out.print(f"expected calibration error: {found.reliability.calibration_error:.4f}")
    out.print(found.meaning)

"""hale calibrate and classify: how sure a run is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hale.cli.common import Device, Json, RunPath, app, err, out, print_json, reporting
from hale.errors import InputError, RunError

if TYPE_CHECKING:
    from hale.data.graph import Graph
    from hale.data.sources.labelled import LabelledTriples
    from hale.runs.run import Run

SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that cannot be judged.")]


@app.command()
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
    from hale.cli.verdict_tables import fits_table
    from hale.evaluation.calibration import calibrate as calibrate_run
    from hale.runs.run import load_run

    loaded = load_run(run, device=device)
    false = None
    if negatives is not None:
        claims = _read(negatives, loaded.graph, skip_bad)
        if claims.labels is not None:
            raise InputError(f"{negatives}: a file of negatives has three columns, no labels.")
        false = claims.triples
    found = calibrate_run(loaded, method=method, negatives=false, seed=seed)
    if as_json:
        print_json({"run": str(run), **found.as_dict(loaded.graph)})
        return
    out.print(fits_table(loaded, found))


@app.command()
@reporting
def classify(
    run: RunPath,
    triples: Annotated[
        Path, typer.Argument(help="File of triples, perhaps with labels.", metavar="TRIPLES")
    ],
    negatives: Annotated[
        Path | None,
        typer.Option(
            "--negatives", help="File of false triples; those of TRIPLES then count as true."
        ),
    ] = None,
    skip_bad: SkipBad = False,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Write all verdicts to a .csv or .parquet file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the reliability of labelled triples.")
    ] = None,
    rows: Annotated[int, typer.Option("--rows", help="Rows of the table.", min=1)] = 20,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Judge triples: true or false, and how sure.

    TRIPLES has the columns head, relation and tail, and perhaps a label (1 or 0).
    With labels or --negatives, accuracy, F1 and the calibration error are reported.
    """
    from hale.cli.plots import plot_reliability
    from hale.cli.verdict_tables import quality_table, verdicts_table
    from hale.runs.run import load_run

    if out_file is not None and out_file.suffix not in (".csv", ".parquet"):
        raise InputError(f"--out takes a .csv or .parquet file, got {out_file.name!r}.")
    loaded = load_run(run, device=device)
    claims = _read(triples, loaded.graph, skip_bad)
    ids, labels = claims.triples, claims.labels
    if negatives is not None:
        ids, labels = _with_negatives(claims, _read(negatives, loaded.graph, skip_bad))
    if plot is not None and labels is None:
        raise InputError("--plot needs labels: a fourth column in the file, or --negatives.")
    verdicts = _judge(loaded, ids)
    quality = None if labels is None else verdicts.quality(labels)
    if quality is not None and plot is not None:
        plot_reliability({loaded.graph.name: quality}, plot)
        err.print(f"drawn: {plot}")
    if out_file is not None:
        _write(verdicts.frame(), labels, out_file)
    if as_json:
        result: dict[str, Any] = {"run": str(run), "triples": verdicts.as_dicts()}
        if labels is not None and quality is not None:
            for row, label in zip(result["triples"], labels.tolist(), strict=True):
                row["label"] = label
            result["quality"] = quality.as_dict()
        print_json(result)
        return
    out.print(verdicts_table(verdicts, labels, most=rows))
    if len(verdicts) > rows:
        err.print(f"{rows} of {len(verdicts):,} triples shown; --out FILE or --json has all")
    if quality is not None:
        out.print(quality_table(quality))


def _read(path: Path, graph: Graph, skip_bad: bool) -> LabelledTriples:
    """The claims of a file; what is left out is told on stderr."""
    from hale.data.sources.labelled import read_labelled

    claims = read_labelled(path, graph, skip_bad=skip_bad)
    for fault in claims.faults:
        err.print(f"warning: {path}, left out {fault}", style="yellow")
    return claims


def _with_negatives(true: LabelledTriples, false: LabelledTriples) -> tuple[Any, Any]:
    """True and false triples in one array, and their labels."""
    import numpy as np

    if true.labels is not None or false.labels is not None:
        raise InputError("--negatives goes with files of three columns: labels would contradict.")
    ids = np.concatenate([true.triples, false.triples])
    return ids, np.arange(len(ids)) < len(true.triples)


def _judge(run: Run, ids: Any) -> Any:
    """Verdicts by the run's calibration, which is made and kept where there is none."""
    from hale.evaluation.calibration import calibrate as calibrate_run
    from hale.evaluation.calibration import load_calibration
    from hale.evaluation.classification import classify as classify_triples

    calibration = load_calibration(run)
    if calibration is None:
        err.print("the run is not calibrated yet: done now, against random corruptions")
        try:
            calibration = calibrate_run(run)
        except RunError as error:  # a shared run that only others may write to
            err.print(f"warning: not kept with the run: {error}", style="yellow")
            calibration = calibrate_run(run, save=False)
    return classify_triples(run, ids, calibration=calibration)


def _write(frame: Any, labels: Any, target: Path) -> None:
    """All verdicts as CSV or Parquet, under a temporary name until they are whole."""
    import polars as pl

    whole = frame if labels is None else frame.with_columns(pl.Series("label", labels))
    waiting = target.with_name(f".{target.name}.new")
    try:
        if target.suffix == ".csv":
            whole.write_csv(waiting)
        else:
            whole.write_parquet(waiting)
        waiting.replace(target)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror or error}.") from None
    err.print(f"written: {target}")

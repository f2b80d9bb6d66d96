"""hale classify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hale.cli.app import err, out, print_json, read_labelled_file, reporting, tell_meaning
from hale.cli.options import CsvSafe, Device, Json, OutFile, RunPath, SkipBad
from hale.errors import InputError

if TYPE_CHECKING:
    from hale.data.sources.labelled import LabelledTriples
    from hale.runs.run import Run


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
    out_file: OutFile = None,
    csv_safe: CsvSafe = False,
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
    from hale.cli.tables import quality_table, verdicts_table
    from hale.data.files import check_writable
    from hale.export.table_file import check_table_path
    from hale.runs.run import load_run

    if out_file is not None:
        check_table_path(out_file)
    if plot is not None:
        check_writable(plot)
    loaded = load_run(run, device=device)
    judged = read_labelled_file(triples, loaded.graph, skip_bad)
    ids, labels = judged.triples, judged.labels
    if negatives is not None:
        ids, labels = _with_negatives(judged, read_labelled_file(negatives, loaded.graph, skip_bad))
    if plot is not None and labels is None:
        raise InputError("--plot needs labels: a fourth column in the file, or --negatives.")
    verdicts = _judge(loaded, ids)
    quality = None if labels is None else verdicts.quality(labels)
    if quality is not None and plot is not None:
        from hale.cli.plots import plot_reliability

        plot_reliability({loaded.graph.name: quality}, plot)
        err.print(f"drawn: {plot}")
    if out_file is not None:
        _write(verdicts.to_polars(), labels, out_file, csv_safe=csv_safe)
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
    tell_meaning(loaded, held="train" in verdicts.to_polars()["known"])


def _with_negatives(true: LabelledTriples, false: LabelledTriples) -> tuple[Any, Any]:
    """True and false triples in one array, and their labels."""
    import numpy as np

    if true.labels is not None or false.labels is not None:
        raise InputError("--negatives goes with files of three columns: labels would contradict.")
    ids = np.concatenate([true.triples, false.triples])
    return ids, np.arange(len(ids)) < len(true.triples)


def _judge(run: Run, ids: Any) -> Any:
    """Verdicts by the run's calibration, or by one made for now: asking changes no run."""
    from hale.evaluation.calibration import calibrate as calibrate_run
    from hale.evaluation.calibration import load_calibration
    from hale.evaluation.classification import classify as classify_triples

    calibration = load_calibration(run)
    if calibration is None:
        err.print(
            "the run is not calibrated: done now, on its validation triples, and not kept; "
            f"hale calibrate {run.path} would keep it"
        )
        calibration = calibrate_run(run, save=False)
    return classify_triples(run, ids, calibration=calibration)


def _write(frame: Any, labels: Any, target: Path, *, csv_safe: bool) -> None:
    """All verdicts, with the labels that there are."""
    import polars as pl

    from hale.export.table_file import table_file

    with table_file(target, csv_safe=csv_safe) as file:
        file.add(frame if labels is None else frame.with_columns(pl.Series("label", labels)))
    err.print(f"written: {target}")

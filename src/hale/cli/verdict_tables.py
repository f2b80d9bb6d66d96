"""Tables of how sure a run is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from hale.evaluation.calibration import Calibration
from hale.evaluation.classification import Verdicts
from hale.evaluation.reliability import Quality
from hale.runs.run import Run


def fits_table(run: Run, calibration: Calibration) -> Table:
    """What was fitted, for all relations together and for each with enough triples."""
    fits, relations = calibration.fits, run.graph.relations
    title = f"{calibration.method} against {calibration.negatives} negatives, on {run.graph.name}"
    table = Table(title=title, title_justify="left", box=None, header_style="bold")
    table.add_column("relation", overflow="fold")
    for column in ("positives", "negatives", "threshold", "p at threshold"):
        table.add_column(column, justify="right")
    rows = [(relations[number], fit) for number, fit in fits.by_relation.items()]
    rest = len(relations) - len(rows)
    shared = "all together" + (f", for {rest} with few" if rest else "")
    for name, fit in [(shared, fits.overall), *rows]:
        table.add_row(
            name,
            f"{fit.positives:,}",
            f"{fit.negatives:,}",
            f"{fit.threshold:.3f}",
            f"{fit.curve.probability(np.array([fit.threshold]))[0]:.3f}",
        )
    return table


def verdicts_table(verdicts: Verdicts, labels: NDArray[np.bool_] | None, *, most: int) -> Table:
    """The first verdicts, with readable names where there are any."""
    graph = verdicts.graph

    def named(entity: str) -> str:
        label = graph.label(entity)
        return f"{entity} ({label})" if label else entity

    table = Table(box=None, header_style="bold")
    for column in ("head", "relation", "tail"):
        table.add_column(column, overflow="fold")
    table.add_column("verdict")
    table.add_column("probability", justify="right")
    if labels is not None:
        table.add_column("label")
    for place, verdict in enumerate(verdicts[:most]):
        label = [] if labels is None else [_word(bool(labels[place]))]
        table.add_row(
            named(verdict.head),
            verdict.relation,
            named(verdict.tail),
            _word(verdict.verdict),
            f"{verdict.probability:.3f}",
            *label,
        )
    return table


def quality_table(quality: Quality) -> Table:
    """Accuracy, F1 and calibration error in one row."""
    table = Table(box=None, header_style="bold")
    columns = {
        "accuracy": quality.accuracy,
        "F1": quality.f1,
        "precision": quality.precision,
        "recall": quality.recall,
        "calibration error": quality.calibration_error,
    }
    for column in (*columns, "triples", "true"):
        table.add_column(column, justify="right")
    counts = (f"{quality.count:,}", f"{quality.positives:,}")
    table.add_row(*(f"{value:.4f}" for value in columns.values()), *counts)
    return table


def _word(value: bool) -> str:
    return "true" if value else "false"

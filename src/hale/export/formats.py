"""One door to all formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hale import __version__
from hale.errors import EvaluationError, InputError, UnknownNameError
from hale.export.about import export_folder, is_taken, read_about
from hale.export.columnar import write_csv, write_parquet
from hale.export.index import lift, write_index
from hale.export.npy import write_npy
from hale.export.tensorboard import write_tensorboard
from hale.export.vectors import Tables, tables_of
from hale.export.word2vec import write_word2vec
from hale.runs.run import Run, RunSource, open_run

WRITERS: dict[str, Callable[[Tables, Path], None]] = {
    "npy": write_npy,
    "parquet": write_parquet,
    "word2vec": write_word2vec,
    "tensorboard": write_tensorboard,
}
FORMATS = (*WRITERS, "csv", "index")


def export_run(
    run: RunSource,
    path: str | Path,
    *,
    form: str = "npy",
    overwrite: bool = False,
    csv_safe: bool = False,
) -> dict[str, Any]:
    """Write a run's vectors to a folder -> what its about.json says.

    ``form`` is one of FORMATS: npy, parquet, csv, word2vec, tensorboard, index.
    The folder appears whole or not at all; one that is there already is replaced
    only with ``overwrite``, and only if it is an export. ``csv_safe`` goes with csv: names that
    a spreadsheet would compute stand there as texts.
    """
    if form not in FORMATS:
        raise UnknownNameError("format", form, FORMATS)
    if csv_safe and form != "csv":
        raise InputError(f"csv_safe (--csv-safe) is about csv files; the format is {form}.")
    run = open_run(run)
    is_taken(path, overwrite=overwrite)  # told before anything is made
    tables = tables_of(run)
    if not _finite(tables):
        raise EvaluationError("The run has vectors that are not finite; train it again.")
    lifted = lift(run.model, tables.entities) if form == "index" else None
    about: dict[str, Any] = {
        "export": 1,
        "hale": __version__,
        "format": form,
        "graph": run.graph.name,
        "model": run.settings.model,
        "similarity": run.model.similarity,
        "heights": run.model.heights,
        "without_loops": _without_loops(run),
        "cardinality": _deltas(run),
        "step": run.summary.kept_step,
        "tables": tables.shapes(),
    }
    with export_folder(path, about, overwrite=overwrite) as folder:
        if form == "csv":
            write_csv(tables, folder, csv_safe=csv_safe)
        elif lifted is None:
            WRITERS[form](tables, folder)
        else:
            about["index"] = write_index(tables, lifted, folder)
    return read_about(path)


def _without_loops(run: Run) -> list[str]:
    """The relations of which an entity is no answer to a query about itself."""
    if run.model.may_loop is None:
        return []
    forward = run.model.may_loop[: len(run.graph.relations), 0].tolist()
    names = run.graph.relations.names
    return [name for name, may in zip(names, forward, strict=True) if not may]


def _deltas(run: Run) -> dict[str, dict[str, float]]:
    """By relation, the nats by which taken tails and heads stand back in the run's own answers.

    No metric of vectors has them: who is taken depends on the relation that is asked for.
    """
    if not run.settings.cardinality:
        return {}
    told = {name: run.graph.profiles.of(i) for i, name in enumerate(run.graph.relations.names)}
    return {
        name: {"tails": round(one.tail_delta, 4), "heads": round(one.head_delta, 4)}
        for name, one in told.items()
        if one.tail_delta or one.head_delta
    }


def _finite(tables: Tables) -> bool:

    return bool(np.isfinite(tables.entities).all())

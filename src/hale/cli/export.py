"""hale export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hale.cli.app import err, out, print_json, reporting
from hale.cli.options import CsvSafe, Json, RunPath, Threads


@reporting
def export(
    run: RunPath,
    form: Annotated[
        str,
        typer.Option("--format", help="npy, parquet, csv, word2vec, tensorboard or index."),
    ] = "npy",
    target: Annotated[
        Path | None, typer.Option("--out", help="Folder to write. [default: RUN-FORMAT]")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier export.")
    ] = False,
    csv_safe: CsvSafe = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Write entity and relation vectors with their names, or an index, to a folder."""
    from hale.engine.device import use_threads
    from hale.errors import UnknownNameError
    from hale.export import FORMATS, export_run
    from hale.export.about import is_taken
    from hale.runs.run import load_run

    if form not in FORMATS:
        raise UnknownNameError("format", form, FORMATS)
    use_threads(threads)
    folder = target or _beside(run, form)
    is_taken(folder, overwrite=overwrite)
    loaded = load_run(run, device="cpu")
    if form == "index":
        err.print(f"building an index of {len(loaded.graph.entities):,} entities")
    about = export_run(loaded, folder, form=form, overwrite=overwrite, csv_safe=csv_safe)
    if as_json:
        print_json({"run": str(run), "out": str(folder), **about})
        return
    for file in sorted(folder.iterdir()):
        out.print(f"{file.stat().st_size:>14,}  {folder / file.name}")


def _beside(run: Path, form: str) -> Path:
    """Where an export goes that is given no folder; ``.`` and ``..`` go by what they stand for."""
    named = run if run.name not in ("", "..") else run.resolve()
    return named.parent / f"{named.name}-{form}"

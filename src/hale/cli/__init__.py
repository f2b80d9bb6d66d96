"""The command line: argument -> settings -> call; nothing is decided here.

Torch is imported inside the commands, so that help and errors come at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from hale.cli import (  # noqa: F401  (they register their commands, in this order)
    bench,
    calibrate,
    classify,
    datasets,
    discover,
    evaluate,
    export,
    models,
    neighbors,
    predict,
    reproduce,
    show,
    strategies,
    train,
    tune,
    update,
    why,
)
from hale.cli.app import app, out
from hale.version import VERSION

__all__ = ["app", "main"]


@app.callback(invoke_without_command=True)
def version(
    wanted: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Knowledge-graph embeddings in minutes, and the answers they give."""
    if wanted:
        out.print(f"hale {VERSION}")
        raise typer.Exit


def main() -> None:
    """Entry point of the command."""
    app()

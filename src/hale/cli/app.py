"""What the commands share: the app, the consoles, the way errors are told."""

from __future__ import annotations

import functools
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import typer
from rich.console import Console

from hale.errors import HaleError, HaleWarning

if TYPE_CHECKING:
    from hale.data.graph import Graph
    from hale.data.sources.labelled import LabelledTriples

app = typer.Typer(
    name="hale",
    help="Knowledge-graph embeddings in minutes, and the answers they give.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# Names are data: no markup, no emoji codes.
out = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)

P = ParamSpec("P")
R = TypeVar("R")

INTERRUPTED = 130


def reporting(command: Callable[P, R]) -> Callable[P, R]:
    """Turn hale's errors into one message and an exit status."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except HaleError as error:
            err.print(f"error: {error}", style="red")
            raise typer.Exit(error.exit_status) from None
        except KeyboardInterrupt:
            err.print("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    return wrapped


def load_graph(source: str, **options: Any) -> Graph:
    """Load a graph with download bars; its notes go to stderr."""
    from hale.cli.progress import download_bars
    from hale.data.datasets import load

    with warnings.catch_warnings(), download_bars(err) as announce:
        warnings.simplefilter("ignore", HaleWarning)
        graph = load(source, announce=announce, **options)
    err.print(repr(graph))
    for note in graph.notes:
        err.print(f"warning: {note}", style="yellow")
    return graph


def print_json(value: dict[str, Any]) -> None:
    """One object, one line, on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def read_claims_file(path: Path, graph: Graph, skip_bad: bool) -> LabelledTriples:
    """The claims of a file; what is left out is told on stderr."""
    from hale.data.sources.labelled import read_labelled

    claims = read_labelled(path, graph, skip_bad=skip_bad)
    for fault in claims.faults:
        err.print(f"warning: {path}, left out {fault}", style="yellow")
    return claims


def tell_file(run: Path, path: Path, counts: dict[str, int], as_json: bool) -> None:
    """Say what was written where."""
    if as_json:
        print_json({"run": str(run), "out": str(path), **counts})
        return
    what = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    out.print(f"{path}: {what}")

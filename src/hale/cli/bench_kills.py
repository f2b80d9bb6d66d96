"""hale bench kills."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hale.cli.app import out, reporting
from hale.errors import GroupError


@reporting
def kills(
    kept: Annotated[Path, typer.Argument(help="JSON file of the figures; a call goes on with it.")],
    number: Annotated[int, typer.Option("--kills", help="Kills in all.", min=1)] = 50,
    page: Annotated[Path | None, typer.Option("--page", help="Write the page of it.")] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", help="Begin no other run after this time.")
    ] = None,
) -> None:
    """Kill ranks of runs at random moments, and compare the weights in the end (wordnet)."""
    import tempfile

    from hale.errors import InputError
    from hale.lab.bench.kills import break_runs, count_kills, write_kills_page
    from hale.settings import parse_duration

    try:
        seconds = float("inf") if budget is None else parse_duration(budget)
    except ValueError as error:
        raise InputError(f"--budget: {error}.") from None
    with tempfile.TemporaryDirectory() as work:
        found = break_runs(number, kept, Path(work), seconds=seconds, follow=_tell)
    if page is not None and found["runs"]:
        write_kills_page(found, page)
    if not found["runs"]:
        out.print("no run has ended yet; the same command goes on")
        return
    same = all(run["same"] for run in found["runs"])
    out.print(f"{count_kills(found)} kills of {number}, weights {'the same' if same else 'differ'}")
    if not same:
        raise GroupError("A run that was broken has other weights than one that was not.")


def _tell(run: dict[str, Any]) -> None:
    """A line for a run, as soon as it has ended."""
    weights = "the same weights" if run["same"] else "OTHER WEIGHTS"
    out.print(f"{run['ranks']} ranks, {len(run['kills'])} kills, {run['seconds']:.0f} s: {weights}")

"""Asking a run on ranks: the group that torchrun started, who prints, and who writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hale.cli.launch import is_rank, launch_ranks, leads
from hale.errors import GroupError

if TYPE_CHECKING:
    import polars as pl

    from hale.engine.group import Group
    from hale.export.table_file import TableFile

# Commands that ranks of a group run together. The others need all rows or write by themselves:
# reasons for a fact, an index, a map, an update, a fit of probabilities.
RANKED = ("train", "evaluate", "predict", "discover", "neighbors")


def refuse_ranks(command: str) -> None:
    """Refuse a command that torchrun started several times over, if it is for one process."""
    if is_rank() and os.environ.get("WORLD_SIZE") != "1" and command not in RANKED:
        raise typer.BadParameter(
            f"hale {command} is for one process: it needs all rows of the run. Start it without "
            f"torchrun, where they fit. On ranks run {', '.join(RANKED)}."
        )


@contextmanager
def asking_ranks(ranks: int | None, run: Path, device: str = "cpu") -> Iterator[Group]:
    """The group that a run is asked in: with ``ranks``, as many processes of this machine.

    Rank 0 alone prints; what goes wrong between ranks is told by whoever meets it.
    """
    from hale.cli.app import err, out
    from hale.engine.group import ALONE, Group
    from hale.runs.folder import RunFolder

    if not is_rank():
        if ranks is not None:
            RunFolder(run).read_settings()  # no run, no ranks
            launch_ranks(ranks, restarts=0)
        yield ALONE
        return
    if not leads():
        out.quiet = err.quiet = True
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
    group = Group.join(device="cuda" if device == "cuda" else "cpu")
    try:
        yield group
    except GroupError:
        err.quiet = False
        raise
    finally:
        group.leave()


class _Nowhere:
    """A table file that only counts: those of the ranks that do not write."""

    rows = 0

    def add(self, table: pl.DataFrame) -> None:
        self.rows += len(table)


@contextmanager
def leading_file(
    group: Group, path: Path, *, csv_safe: bool = False
) -> Iterator[TableFile | _Nowhere]:
    """A table file, which rank 0 writes; ``csv_safe`` as in table_file."""
    from hale.export.table_file import table_file

    if not group.leads:
        yield _Nowhere()
        return
    with table_file(path, csv_safe=csv_safe) as file:
        yield file

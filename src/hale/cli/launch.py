"""Ranks from the command line: the group that torchrun started, and torchrun itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hale.errors import GroupError

if TYPE_CHECKING:
    import polars as pl

    from hale.engine.group import Group
    from hale.export.table_file import TableFile

RESTARTS = 3  # of a group in which a rank died


def is_rank() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ and "RANK" in os.environ


def leads() -> bool:
    """Whether it is to print: alone, or the first of its group."""
    return not is_rank() or os.environ["RANK"] == "0"


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


def launch(ranks: int, out: Path | None = None, *, restarts: int = RESTARTS) -> None:
    """Become torchrun, which starts this command once for each rank on this machine.

    A rank that dies is started again with the others, from the last checkpoint in ``out``.
    """
    rest = without_option(sys.argv[1:], "--ranks")
    if out is not None and not any(part == "--out" or part.startswith("--out=") for part in rest):
        rest += ["--out", str(out)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (cores or 1) // ranks)))
    os.execv(  # noqa: S606
        sys.executable,
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--no-python"),
            *("--local-addr", "127.0.0.1", "--nproc-per-node", str(ranks)),
            *("--max-restarts", str(restarts), sys.executable, "-m", "hale", *rest),
        ],
    )


def without_option(arguments: list[str], name: str) -> list[str]:
    """The arguments without an option and its value, however they are written."""
    found, skip = [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument == name:
            skip = True
        elif not argument.startswith(f"{name}="):
            found.append(argument)
    return found


@contextmanager
def asking_ranks(ranks: int | None, run: Path, device: str = "cpu") -> Iterator[Group]:
    """The group that a run is asked in: with ``ranks``, as many processes of this machine.

    Rank 0 alone prints; what goes wrong between ranks is told by whoever meets it.
    """
    from hale.cli.app import err, out
    from hale.engine.device import choose_device
    from hale.engine.group import ALONE, Group
    from hale.runs.folder import RunFolder

    if not is_rank():
        if ranks is not None:
            RunFolder(run).read_settings()  # no run, no ranks
            launch(ranks, restarts=0)
        yield ALONE
        return
    if not leads():
        out.quiet = err.quiet = True
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
    group = Group.join(device=choose_device(device).type)
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
def leading_file(group: Group, path: Path) -> Iterator[TableFile | _Nowhere]:
    """A table file, which rank 0 writes."""
    from hale.export.table_file import table_file

    if not group.leads:
        yield _Nowhere()
        return
    with table_file(path) as file:
        yield file

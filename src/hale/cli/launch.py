"""Ranks from the command line: the group that torchrun started, and torchrun itself."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

RESTARTS = 3  # of a group in which a rank died
# Whom a rank tells not to try again, and how; Windows has no such signal, and no ranks.
LAUNCHER, REFUSED = "HALE_LAUNCHER", getattr(signal, "SIGUSR1", signal.SIGTERM)


def is_rank() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ and "RANK" in os.environ


def leads() -> bool:
    """Whether it is to print: alone, or the first of its group."""
    return not is_rank() or os.environ["RANK"] == "0"


def do_not_try_again() -> None:
    """Tell who started this rank, if it is hale's own launcher, that the input is at fault."""
    if is_rank() and LAUNCHER in os.environ:
        with suppress(ProcessLookupError):
            os.kill(int(os.environ[LAUNCHER]), REFUSED)


def launch_ranks(ranks: int, out: Path | None = None, *, restarts: int = RESTARTS) -> None:
    """Become torchrun, which starts this command once for each rank on this machine.

    A rank that dies is started again with the others, from the last checkpoint in ``out``.
    """
    rest = without_option(sys.argv[1:], "--ranks")
    if out is not None and not any(part == "--out" or part.startswith("--out=") for part in rest):
        rest += ["--out", str(out)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (cores or 1) // ranks)))
    if hasattr(signal, "pthread_sigmask"):  # Ctrl-C waits until the other program can meet it
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.execv(  # noqa: S606
        sys.executable,
        [
            *(sys.executable, "-m", "hale.cli.torchrun", "--standalone", "--no-python"),
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

"""Ranks from the command line: the group that torchrun started, and torchrun itself."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from hale.cli import INTERRUPTED
from hale.errors import GroupError, InputError

RESTARTS = 3  # of a group in which a rank died


def is_rank() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ and "RANK" in os.environ


def leads() -> bool:
    """Whether it is to print: alone, or the first of its group."""
    return not is_rank() or os.environ["RANK"] == "0"


def launch_ranks(ranks: int, out: Path | None = None, *, restarts: int = RESTARTS) -> NoReturn:
    """Be torchrun, which starts this command once for each rank here, and end as they do.

    A rank that dies is started again with the others, from the last checkpoint in ``out``. What a
    rank was refused it has told itself; torchrun would add a traceback of its own.
    """
    rest = without_option(sys.argv[1:], "--ranks")
    if out is not None and not any(part == "--out" or part.startswith("--out=") for part in rest):
        rest += ["--out", str(out)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (cores or 1) // ranks)))
    os.environ.setdefault("LOGLEVEL", "CRITICAL")  # of torchrun, which logs what ranks have told
    from torch.distributed import run as torchrun
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    asked = torchrun.parse_args(  # type: ignore[no-untyped-call]
        [
            *("--standalone", "--no-python", "--local-addr", "127.0.0.1"),
            *("--nproc-per-node", str(ranks), "--max-restarts", str(restarts)),
            *(sys.executable, "-m", "hale", *rest),
        ]
    )
    try:
        torchrun.run(asked)  # type: ignore[no-untyped-call]
    except SignalException as error:
        if error.sigval == signal.SIGINT:
            raise KeyboardInterrupt from None
        raise GroupError(f"The ranks were ended by {error.sigval.name}.") from None
    except ChildFailedError as error:
        number, failure = error.get_first_failure()
        if failure.exitcode in (InputError.exit_status, INTERRUPTED):
            raise SystemExit(failure.exitcode) from None
        raise GroupError(
            f"Rank {number} ended with status {failure.exitcode}; what it said stands above."
        ) from None
    raise SystemExit(0)


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

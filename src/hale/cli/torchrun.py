"""torchrun as `--ranks` starts it: what ranks have told is no traceback, and has their status.

`python -m hale.cli.torchrun OPTIONS COMMAND ...` takes what torchrun takes. Input that a rank
refuses is not tried again: the rank says so by a signal (cli.launch). Hosts may join and leave
(`--nnodes 1:4`): ranks meet at an address that every round of torchrun's rendezvous tells anew. Of
its own accord torch 2.13 tells it in the first round alone, and a host that comes later waits for
it in vain.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hale.cli import INTERRUPTED, end_at_interrupts, meet_interrupts
from hale.cli.launch import LAUNCHER, REFUSED
from hale.errors import GroupError, InputError

EACH_ROUND = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"  # where it is 1, each round tells its address


class _RefusedError(Exception):
    """A rank has told why."""


def main() -> int:
    """Start ranks, and wait for their end -> the exit status; Ctrl-C is met from the start."""
    meet_interrupts(unblock=False)
    try:
        with _blocked_for_ranks():
            return _ranks()
    except KeyboardInterrupt:  # until torchrun looks for signals itself
        sys.stderr.write("interrupted\n")
        return INTERRUPTED


@contextmanager
def _blocked_for_ranks() -> Iterator[None]:
    """Ctrl-C waits for a rank until it can meet it: ranks begin with what is blocked here.

    Python would print a traceback of a rank that it is still starting. A thread stands ready for
    the signal in place of this one, which acts on it all the same.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    done = threading.Event()

    def stand_ready() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        done.wait()

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    ready = threading.Thread(target=stand_ready, daemon=True)
    ready.start()
    try:
        yield
    finally:
        done.set()
        ready.join()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _ranks() -> int:
    from torch.distributed import DistError, run
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.elastic.rendezvous import RendezvousError

    def refused(_number: int, _frame: object) -> None:
        signal.signal(REFUSED, signal.SIG_IGN)  # other ranks say the same
        raise _RefusedError

    signal.signal(REFUSED, refused)
    os.environ[LAUNCHER] = str(os.getpid())
    if "--standalone" not in sys.argv:
        os.environ.setdefault(EACH_ROUND, "1")
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    try:
        run.run(run.parse_args(sys.argv[1:]))  # type: ignore[no-untyped-call]
    except _RefusedError:
        return InputError.exit_status
    except SignalException as error:
        return INTERRUPTED if error.sigval == signal.SIGINT else 128 + int(error.sigval)
    except (RendezvousError, DistError) as error:
        told = str(error).strip().split("\n", 1)[0]
        sys.stderr.write(
            "error: this host has lost the others, or the one that keeps their rendezvous "
            f"(--rdzv-endpoint) has ended. Start them again, with --resume. ({told})\n"
        )
        return GroupError.exit_status
    except ChildFailedError as error:
        status = int(error.get_first_failure()[1].exitcode)
        if status < 0:  # by a signal; who was waiting for it has told, too
            sys.stderr.write(f"error: a rank was ended by {signal.Signals(-status).name}\n")
            return GroupError.exit_status
        return status
    return 0


if __name__ == "__main__":
    ended = main()
    end_at_interrupts()
    sys.exit(ended)

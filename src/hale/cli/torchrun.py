"""torchrun as `--ranks` starts it: what ranks have told is no traceback, and has their status.

`python -m hale.cli.torchrun OPTIONS COMMAND ...` takes what torchrun takes. Input that a rank
refuses is not tried again: the rank says so by a signal (cli.launch).
"""

from __future__ import annotations

import logging
import os
import signal
import sys

from hale.cli import INTERRUPTED
from hale.cli.launch import LAUNCHER, REFUSED
from hale.errors import GroupError, InputError


class _RefusedError(Exception):
    """A rank has told why."""


def main() -> int:
    """Start ranks, and wait for their end -> the exit status."""
    from torch.distributed import run
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    def refused(_number: int, _frame: object) -> None:
        signal.signal(REFUSED, signal.SIG_IGN)  # other ranks say the same
        raise _RefusedError

    signal.signal(REFUSED, refused)
    os.environ[LAUNCHER] = str(os.getpid())
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    try:
        run.run(run.parse_args(sys.argv[1:]))  # type: ignore[no-untyped-call]
    except _RefusedError:
        return InputError.exit_status
    except SignalException as error:
        return INTERRUPTED if error.sigval == signal.SIGINT else 128 + int(error.sigval)
    except ChildFailedError as error:
        status = int(error.get_first_failure()[1].exitcode)
        if status < 0:  # by a signal; who was waiting for it has told, too
            sys.stderr.write(f"error: a rank was ended by {signal.Signals(-status).name}\n")
            return GroupError.exit_status
        return status
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The command line: argument -> settings -> call; nothing is decided here.

One file a command, imported when it is called; torch is imported inside the commands, so that
help and errors come at once. Nothing is imported here, so that Ctrl-C is met from the start.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from types import FrameType
from typing import Any, NoReturn

__all__ = ["INTERRUPTED", "main"]

INTERRUPTED = 130
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EROFS)  # of no named file

PRINTERS = ("rich.", "click.", "typer.", "hale.cli.")  # all else that writes names its file

started: float | None = None  # when the command was called, by time.perf_counter()


def main() -> None:
    """Entry point of the command."""
    global started
    started = time.perf_counter()
    try:
        meet_interrupts()
        must_stand_somewhere()
        from hale.cli.app import app

        app()
    except OSError as error:
        if error.filename is not None or error.errno not in NO_ROOM:
            raise
        if was_printing(error):
            refuse_output(error)
        os.write(2, f"error: the disk: {error.strerror}.\n".encode())
        sys.exit(2)
    except BaseException as error:  # a library in Rust makes a panic of Ctrl-C
        if not isinstance(error, KeyboardInterrupt) and "KeyboardInterrupt" not in str(error):
            raise
        os.write(2, b"interrupted\n")
        sys.exit(INTERRUPTED)
    finally:
        end_at_interrupts()
        flush_output()


def flush_output() -> None:
    """What is printed leaves this process now, or it is told that it cannot."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # who read it has enough
        drop_output()
    except OSError as error:
        refuse_output(error)


def was_printing(error: OSError) -> bool:
    """Whether it came of what prints: stdout names no file, and neither does a temporary one."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else str(place.tb_frame.f_globals.get("__name__"))
    return where.startswith(PRINTERS)


def refuse_output(error: OSError) -> NoReturn:
    """End because what is printed goes to a disk that takes no more."""
    drop_output()
    os.write(2, f"error: what is printed cannot be written: {error.strerror}.\n".encode())
    sys.exit(2)


def drop_output() -> None:
    """Nothing more is written to stdout, neither now nor as Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def must_stand_somewhere() -> None:
    """Refuse to begin in a folder that was removed: libraries end the process there."""
    try:
        os.getcwd()  # noqa: PTH109 - pathlib would be imported for it
    except OSError:
        os.write(
            2, b"error: The folder that you are in is gone. Go to another (cd), and try again.\n"
        )
        sys.exit(2)


def meet_interrupts(*, unblock: bool = True) -> None:
    """From now on Ctrl-C is met by ``interrupt``, but for jobs in the background.

    One that came before is met then: who starts ranks has blocked it for them.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = again_if_lost
    if unblock and hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def end_at_interrupts() -> None:
    """From now on Ctrl-C ends the process at once: only Python's own end is left."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(INTERRUPTED))


def interrupt(_number: int, frame: FrameType | None) -> None:
    """Ctrl-C: an exception, as usual; within an import the end, at once.

    A library that is being imported may turn the exception into another, or go on without the part
    that it broke off; and there is nothing yet to clear away.
    """
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            os.write(2, b"interrupted\n")
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


def again_if_lost(unraisable: Any) -> None:
    """Ctrl-C within a callback of Python's own, which no exception leaves: again, soon after."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt) and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(unraisable)

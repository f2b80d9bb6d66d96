"""Commands in forks of a process that has PyTorch loaded, so that a thousand of them take minutes.

The parent imports and computes nothing: pools of threads do not survive a fork.
"""

from __future__ import annotations

import ctypes
import os
import re
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

KILLED = -signal.SIGKILL
# hale's errors, and those of the command line.
MESSAGE = re.compile(r"^(?:error|Error): ", re.MULTILINE)


@dataclass(frozen=True)
class Ended:
    """How a command ended: status (negative: by a signal), what it printed, and its time."""

    status: int
    printed: str
    seconds: float
    calls: int = 0  # that changed files, where they were counted

    @property
    def clean(self) -> bool:
        """One of hale's own ends, with its one message where it is refused, and no traceback."""
        told = len(MESSAGE.findall(self.printed)) == (self.status == 2)
        return self.status in (0, 2, 130) and told and "Traceback" not in self.printed


@dataclass(frozen=True)
class Fault:
    """The ``number``-th call that changes a file below ``folder`` fails with ``error``; 0: none."""

    folder: Path
    number: int = 0
    error: int = 0


def warm_up() -> None:
    """Import what commands import."""
    import importlib
    import pkgutil

    import hale

    aside = ("hale.serve", "hale.__main__", "hale.lab.bench", "hale.engine.libhale")  # the kernel
    for found in pkgutil.walk_packages(hale.__path__, "hale."):
        if not found.name.startswith(aside):
            importlib.import_module(found.name)


def run(
    argv: Sequence[str],
    here: Path,
    *,
    kill_after: float | None = None,
    fault: Fault | None = None,
    record: tuple[Path, Path] | None = None,
    before: Callable[[], None] | None = None,
    interrupt_after: float | None = None,
    limit: float = 300.0,
) -> Ended:
    """``hale *argv`` in the folder ``here``, in a fork.

    ``kill_after`` seconds it is killed, without a chance to clean up; a ``fault`` awaits it.
    ``interrupt_after`` seconds it gets what Ctrl-C sends, with all that it started: ``before`` has
    then made it the first of a session.
    With ``record`` (folder, store) the calls that change files below the folder are written down.
    ``before`` runs in the fork first.
    """
    began, output = time.monotonic(), here.with_name(here.name + ".printed")
    mine, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(mine)
        _child(argv, here, output, fault, record, before, theirs)
    os.close(theirs)
    if interrupt_after is not None and not _ends(child, began + interrupt_after):
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGINT)
    ready = _ends(child, began + (limit if kill_after is None else min(limit, kill_after)))
    if not ready:
        os.kill(child, signal.SIGKILL)
    told = os.read(mine, 32) if ready else b""
    os.close(mine)
    _, raw = os.waitpid(child, 0)
    status = os.waitstatus_to_exitcode(raw)
    if not ready and kill_after is None:
        raise TimeoutError(f"hale {' '.join(argv)} took longer than {limit:g} s")
    printed = output.read_text(errors="replace") if output.exists() else ""
    return Ended(status, printed, time.monotonic() - began, int(told or 0))


def _ends(child: int, until: float) -> bool:
    """Whether a process ends before a moment; also one that became another program."""
    handle = os.pidfd_open(child)
    try:
        left = max(0.0, until - time.monotonic())
        return bool(select.select([handle], [], [], left)[0])
    finally:
        os.close(handle)


def _child(
    argv: Sequence[str],
    here: Path,
    output: Path,
    fault: Fault | None,
    record: tuple[Path, Path] | None,
    before: Callable[[], None] | None,
    pipe: int,
) -> None:
    """Never returns; Python's own end is left out, as the parent's threads are not here."""
    status = 70
    try:
        os.environ |= {"HALE_CACHE": str(here / "cache"), "HALE_DATA": str(here / "data")}
        os.chdir(here)
        target = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        os.dup2(target, 1)
        os.dup2(target, 2)
        libc = ctypes.CDLL(None)
        if before is not None:
            before()
        if record is not None:
            folder, store = record
            libc.faults_record(str(folder).encode(), str(store).encode())
        if fault is not None:
            libc.faults_arm(str(fault.folder).encode(), fault.number, fault.error)
        sys.argv = ["hale", *argv]
        from hale.cli import main

        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
        calls = libc.faults_count() if fault is not None else 0
        os.write(pipe, str(calls).encode())
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)

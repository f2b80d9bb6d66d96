"""The journal of a search: a line for all that happens to its trials, whole after any end.

optuna's own lock is a link that a killed or failed process leaves behind, and others wait for it;
this one is taken away by the system from a process that ends. A line that a kill has cut is removed
before anything is written after it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

if TYPE_CHECKING:
    from optuna.storages.journal import JournalFileBackend


class _Lock:
    """What optuna asks of a lock: to be acquired and released."""

    def __init__(self, path: Path) -> None:
        self._lock = FileLock(path)

    def acquire(self) -> bool:
        """Wait until it is ours."""
        self._lock.acquire()
        return True

    def release(self) -> None:
        """Let others have it."""
        self._lock.release()


def open_journal(path: Path) -> JournalFileBackend:
    """The journal at ``path``, without a last line that is cut off; a new one if there is none."""
    from optuna.storages.journal import JournalFileBackend

    lock = _Lock(path.with_name(f".{path.name}.lock"))
    lock.acquire()
    try:
        _drop_half_a_line(path)
    finally:
        lock.release()
    return JournalFileBackend(str(path), lock_obj=lock)


def _drop_half_a_line(path: Path) -> None:
    if not path.exists():
        return
    text = path.read_bytes()
    if not text.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(text.rfind(b"\n") + 1)

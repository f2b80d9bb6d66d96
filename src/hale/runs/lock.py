"""One writer at a time: a lock beside a run's folder, held while it is trained or updated.

The system takes the lock from a process that ends, however it ends, so a stale one is nobody's.
It lies beside the folder, not in it, since an overwrite replaces the folder; and there it stays, an
empty file: to remove a lock safely is harder than to keep one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from hale.data.file_lock import acquire
from hale.data.files import make_folder
from hale.errors import RunError


@contextmanager
def writing_run(path: str | Path | None) -> Iterator[None]:
    """Hold the run of that folder for writing; None is a run in memory, which nobody else has.

    A run that another process writes is an error. The same process may hold it several times,
    one within the other.
    """
    if path is None:
        yield
        return
    folder = Path(path).absolute()

    def refuse() -> None:
        raise RunError(
            f"Another process is writing the run {path} (training, updating or evaluating it). "
            "Wait until it ends, or choose another folder."
        )

    try:
        make_folder(folder.parent)
        lock = FileLock(_beside(folder), is_singleton=True)
        acquire(lock, refuse)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def deciding(path: str | Path) -> Iterator[None]:
    """Wait for whoever writes down a decision about a run's facts, or replaces the run's folder.

    So no decision falls between the copy of those that were made and the new folder.
    """
    lock = FileLock(_beside(Path(path).absolute(), "review.lock"))
    try:
        acquire(lock, lambda: None)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        yield
    finally:
        lock.release()


def _unwritable(path: str | Path, error: OSError) -> RunError:
    return RunError(f"{path} cannot be written: {error.strerror or error}.")


def _beside(folder: Path, kind: str = "lock") -> Path:
    """Where a lock lies: in the folder itself if nothing can be written beside it."""
    place = folder.with_name(f".{folder.name}.{kind}")
    beside = place.exists() or os.access(folder.parent, os.W_OK)
    return place if beside or not folder.is_dir() else folder / f".{kind}"

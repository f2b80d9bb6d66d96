"""A lock between processes, by a file: the system takes it from one that ends, however it ends."""

from __future__ import annotations

from collections.abc import Callable

from filelock import BaseFileLock, Timeout


def acquire(lock: BaseFileLock, taken: Callable[[], object]) -> None:
    """Take a lock; ``taken`` is called where another holds it, and if it returns, it is waited for.

    A file system without locks goes without, as before there were any. Releasing is for the caller.
    """
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            taken()
            lock.acquire(timeout=-1)
    except NotImplementedError:
        return

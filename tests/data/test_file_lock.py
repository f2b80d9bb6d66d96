"""Two locks on one file, as two processes have them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from filelock import FileLock

from hale.data.file_lock import acquire


class Taken(Exception):  # noqa: N818
    pass


def refuse() -> None:
    raise Taken


def test_one_that_is_held_is_refused_or_waited_for(tmp_path: Path) -> None:
    one, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock", thread_local=False)
    acquire(one, refuse)
    with pytest.raises(Taken):
        acquire(other, refuse)
    waits, got = threading.Event(), threading.Event()

    def wait() -> None:
        acquire(other, waits.set)
        got.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert waits.wait(20)
    assert not got.is_set()
    one.release()
    assert got.wait(20)
    thread.join()
    other.release()


def test_a_file_system_without_locks_goes_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(_lock: FileLock) -> None:
        raise NotImplementedError

    lock = FileLock(tmp_path / "lock")
    monkeypatch.setattr(FileLock, "_acquire", cannot)
    acquire(lock, refuse)
    lock.release()
    assert not lock.is_locked

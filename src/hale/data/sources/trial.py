"""Trial: a process of its own reads a Parquet file first, for a damaged one may end its reader.

The library that decodes Parquet asserts what it is told by the file. Some wrong bytes make it ask
for an exabyte of memory, which aborts the process: no error that Python could catch. So a process
that has nothing to lose reads a file first, within bounds of memory, and tells how that went.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
from typing import Self

from hale.data.sources.compression import FREE_BYTES, MOST_TIMES

START = "from hale.data.sources.trial import main; main()"
ROOM = 4  # times what a file may unpack to: what decoding takes beside
SECONDS, BYTES_A_SECOND = 60.0, 1 << 20  # that reading may take: so long, and a second more a MB


class Trial:
    """A process that reads Parquet files, for the time of a context; a new one after each crash."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._end()

    def fault_of(self, data: bytes) -> str | None:
        """What is wrong with a file, in a few words; None if it can be read."""
        if self._process is None:
            self._process = _started()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it tells more by how it ended
            process.stdin.write(len(data).to_bytes(8, "little"))
            process.stdin.write(data)
            process.stdin.flush()
        limit = SECONDS + len(data) / BYTES_A_SECOND
        ended_late = threading.Event()

        def end() -> None:
            ended_late.set()
            process.kill()

        late = threading.Timer(limit, end)
        late.start()
        line = process.stdout.readline()
        late.cancel()
        if line:
            fault: str | None = json.loads(line)
            return fault
        if ended_late.is_set():
            self._end()
            return f"reading it took more than {limit:.0f} s"
        return f"reading it ended a process {_words(self._end())}"

    def _end(self) -> int:
        process, self._process = self._process, None
        assert process is not None
        with process, contextlib.suppress(BrokenPipeError):
            assert process.stdin is not None
            process.stdin.close()
        return process.returncode


def _started() -> subprocess.Popen[bytes]:
    known = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-P", "-c", START],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # the library tells there where it panicked
        env=known,
    )


def _words(status: int) -> str:
    if status >= 0:
        return f"with status {status}"
    try:
        return f"by {signal.Signals(-status).name}"
    except ValueError:
        return f"by signal {-status}"


def main() -> None:
    """The other process: sizes and files from standard input, a line for each."""
    import polars  # noqa: F401  # what it maps by itself is no part of a file's bound

    while head := sys.stdin.buffer.read(8):
        data = sys.stdin.buffer.read(int.from_bytes(head, "little"))
        sys.stdout.buffer.write(json.dumps(_fault(data)).encode() + b"\n")
        sys.stdout.buffer.flush()


def _fault(data: bytes, *, bounded: bool = True) -> str | None:
    import polars as pl

    most = max(FREE_BYTES, MOST_TIMES * len(data))
    if bounded:
        _bound_memory(ROOM * most)
    try:
        size = int(pl.read_parquet(io.BytesIO(data)).estimated_size())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        return str(error).strip().split("\n", 1)[0] or type(error).__name__
    except MemoryError:
        return "it takes too much memory"
    return f"{len(data):,} bytes unpack to {size:,}" if size > most else None


def _bound_memory(more: int) -> None:
    """What this process may map beside what it has; nothing where a system has no such bound."""
    try:
        import resource
        from pathlib import Path

        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        within = mapped + more if hard == resource.RLIM_INFINITY else min(mapped + more, hard)
        resource.setrlimit(resource.RLIMIT_AS, (within, hard))
    except (ImportError, OSError, ValueError):
        return

"""Memory: what this process holds and has held, and how it is told that there is no more."""

from __future__ import annotations

import sys
from pathlib import Path

# What torch says where it is refused memory; it raises a plain RuntimeError.
REFUSED = ("not enough memory", "can't allocate memory", "out of memory", "bad_alloc")


def peak_mb() -> float:
    """The most memory that this process has held, in MB."""
    import resource  # Windows has none; only benchmarks ask there

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024


def held_mb(rollup: Path = Path("/proc/self/smaps_rollup")) -> float:
    """The memory that this process holds now, in MB: of pages that it shares, its share (PSS).

    The most that it has held where the system does not tell.
    """
    try:
        lines = rollup.read_text().splitlines()
    except OSError:
        return peak_mb()
    found = [line.split()[1] for line in lines if line.startswith("Pss:")]
    return int(found[0]) / 1024 if found else peak_mb()


def was_refused(error: BaseException) -> bool:
    """Whether an error says that there was no memory to be had."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in REFUSED)

"""Memory: what this process has held, and what there is for it."""

from __future__ import annotations

import sys
from pathlib import Path

GB = 1 << 30
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


def available(root: Path = Path("/")) -> int | None:
    """Bytes that can be had without swapping; None where the system does not tell.

    The least of what the machine has free, what the control group leaves, and the limit of the
    address space. ``root`` is where the system's files are.
    """
    free = [_meminfo(root / "proc/meminfo")]
    group = root / "sys/fs/cgroup"
    for limit, used in (
        (group / "memory.max", group / "memory.current"),
        (group / "memory/memory.limit_in_bytes", group / "memory/memory.usage_in_bytes"),
    ):
        if (most := _number(limit)) is not None and (now := _number(used)) is not None:
            free.append(max(most - now, 0))
    if sys.platform != "win32":
        import resource

        space, _ = resource.getrlimit(resource.RLIMIT_AS)
        if space != resource.RLIM_INFINITY:
            free.append(space)
    return min((one for one in free if one is not None), default=None)


def was_refused(error: BaseException) -> bool:
    """Whether an error says that there was no memory to be had."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in REFUSED)


def _meminfo(path: Path) -> int | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return 1024 * int(found[0]) if found else None


def _number(path: Path) -> int | None:
    """The number in a file; None where there is none, or where it says ``max``."""
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None

"""Room: the memory that there is, and refusing what cannot fit in it before it is tried."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hale.errors import InputError

GB = 1 << 30
STACK = 8 << 20  # bytes, as systems have it by default


def available(root: Path = Path("/")) -> int | None:
    """Bytes that can be had without swapping; None where the system does not tell.

    The least of what the machine has free, what the control group leaves, and what the limit of the
    address space leaves of it. ``root`` is where the system's files are.
    """
    free = [_meminfo(root / "proc/meminfo")]
    group = root / "sys/fs/cgroup"
    for limit, used in (
        (group / "memory.max", group / "memory.current"),
        (group / "memory/memory.limit_in_bytes", group / "memory/memory.usage_in_bytes"),
    ):
        if (most := _number(limit)) is not None and (now := _number(used)) is not None:
            free.append(max(most - now, 0))
    free.append(addresses_left(root))
    return min((one for one in free if one is not None), default=None)


def addresses_left(root: Path = Path("/")) -> int | None:
    """Bytes that the limit of the address space (ulimit -v) leaves; None where there is none."""
    if sys.platform == "win32":
        return None
    import resource

    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space == resource.RLIM_INFINITY:
        return None
    return max(space - _mapped(root / "proc/self/statm"), 0)


def stack_bytes() -> int:
    """What a new thread takes of the address space for its stack."""
    if sys.platform == "win32":
        return STACK
    import resource

    size, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return STACK if size == resource.RLIM_INFINITY else size


def check_room(path: Path, size: int) -> None:
    """Refuse a file that is larger than the memory that it would be read into."""
    free = available()
    if free is not None and size > free:
        raise InputError(
            f"{path} has {size / GB:,.1f} GB, {free / GB:,.1f} GB of memory are free here: take a "
            "part of its triples, or a machine with more."
        )


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


def _mapped(path: Path) -> int:
    """Bytes of the address space that this process has taken; 0 where the system does not tell."""
    try:
        pages = path.read_text().split()[0]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")

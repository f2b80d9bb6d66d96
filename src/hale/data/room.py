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
    free = [_meminfo(root / "proc/meminfo"), *_left_by_groups(root)]
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


def _left_by_groups(root: Path) -> list[int]:
    """What the limits of the control groups leave: of this process's own, and of those above it.

    Pages of files that were read and can be dropped count as used there, and are free all the same.
    """
    mounted, found = root / "sys/fs/cgroup", []
    for folder, names in (
        (mounted, ("memory.max", "memory.current", "inactive_file")),
        (
            mounted / "memory",
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ),
    ):
        own = folder / _group_of(root / "proc/self/cgroup", folder.name == "memory").lstrip("/")
        for group in (own, *own.parents):
            if not group.is_relative_to(folder):
                break
            limit, used, dropped = names
            most, now = _number(group / limit), _number(group / used)
            if most is not None and now is not None:
                now -= min(now, _field(group / "memory.stat", dropped))
                found.append(max(most - now, 0))
    return found


def _group_of(path: Path, by_controller: bool) -> str:
    """The control group of this process: a line ``0::/it``, or ``4:memory:/it`` in version 1."""
    try:
        lines = [line.split(":", 2) for line in path.read_text().splitlines()]
    except OSError:
        return "/"
    found = [
        line[2]
        for line in lines
        if len(line) == 3
        and ("memory" in line[1].split(",") if by_controller else line[:2] == ["0", ""])
    ]
    return found[0] if found else "/"


def _field(path: Path, name: str) -> int:
    """A number by its name in a file of such lines; 0 where there is none."""
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return 0
    return next((int(row[1]) for row in rows if len(row) == 2 and row[0] == name), 0)


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

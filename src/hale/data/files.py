"""Whole files and folders: written aside, brought to disk, then given their name.

Every file that hale writes at once goes through here, so that at any moment, also after a kill or
a power cut, each is the old or the new one. Nothing else in the project renames.

What is written aside has the writer in its name (host, process and thread), so that two writers of
one target do not meet. What writers that are gone left there is removed by the next one.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hale.errors import WriteError

# How long a writer is waited for that is between its two renames, which take no time at all.
REPLACING_SECONDS = 1.0


def write_whole(target: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a file beside the target, bring it to disk, and put it in place.

    A link is followed: the file that it leads to is written.
    """
    with writing_to(target):
        target = followed(target)
        sweep_aside(target)
        waiting = aside(target)
        try:
            write(waiting)
            put_in_place(waiting, target)
        finally:
            waiting.unlink(missing_ok=True)


def write_text(target: Path, text: str) -> None:
    """A text file, whole, in UTF-8."""
    write_whole(target, lambda path: path.write_bytes(text.encode()))


def write_json(target: Path, value: object, *, indent: int = 2) -> None:
    """A JSON file, whole, indented for people."""
    write_text(target, json.dumps(value, indent=indent, ensure_ascii=False) + "\n")


def append_line(target: Path, line: bytes) -> None:
    """One more line of a file that grows, on disk when this returns; several may append to it.

    A line that a full disk or a power cut left unfinished stays, and the next one begins behind it.
    """
    with writing_to(target):
        number = os.open(target, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            size = os.fstat(number).st_size
            unfinished = size and os.pread(number, 1, size - 1) != b"\n"
            whole = (b"\n" if unfinished else b"") + line + b"\n"
            if os.write(number, whole) != len(whole):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
            os.fsync(number)
        finally:
            os.close(number)
        if not size:
            _to_disk(target.parent)  # its name


def followed(target: Path) -> Path:
    """Where a target that is a link leads; an error of what is no file, such as a pipe."""
    target = target.resolve() if target.is_symlink() else target
    if target.exists() and not target.is_file() and not target.is_dir():
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file")
    return target


def put_in_place(waiting: Path, target: Path) -> None:
    """Bring a finished file to disk and give it its name: first its content, then its name."""
    _to_disk(waiting)
    waiting.replace(target)
    _to_disk(target.parent)


@contextmanager
def writing_to(target: Path) -> Iterator[None]:
    """Turn what the disk refuses into one error that names the target."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"{target} cannot be written: {error.strerror or error}.") from None
    except Exception as error:
        # polars has an error of its own around what the system said: "... (os error 5)".
        if (said := re.search(r"[^:\n]*\(os error \d+\)", str(error))) is None:
            raise
        raise WriteError(f"{target} cannot be written: {said[0].strip()}.") from None


def check_writable(target: Path) -> None:
    """Refuse a target that cannot be written, before the work whose result it is for.

    A file is made where the target would be, or in the nearest folder above that exists, and
    removed: what the disk says to that it will say to the target. A folder that this process
    stands in is refused: what takes its place is another folder, which the process does not see.
    """
    with writing_to(target):
        target = followed(target.absolute())
    place = target.parent
    while not place.exists() and place != place.parent:
        place = place.parent
    probe = aside(place / target.name, "probe")
    if target.is_dir() and target.resolve() in (here := Path.cwd(), *here.parents):
        raise WriteError(
            f"{target} cannot be written: it is the folder that you are in, or holds it. "
            "Go elsewhere (cd) and try again."
        )
    with writing_to(target):
        if not place.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{place} is a file, not a folder")
        try:
            probe.touch()
        finally:
            with suppress(OSError):
                probe.unlink(missing_ok=True)


@contextmanager
def whole_folder(target: Path, *, replace: bool) -> Iterator[Path]:
    """Yields a folder beside the target that takes its name once it is filled.

    With ``replace`` both change places at once, where the system can do that; elsewhere what stands
    there makes way, and comes back if the last step fails. On an error nothing is left, and the
    target is as it was.
    """
    target = target.absolute()
    waiting, old = aside(target), aside(target, "old")
    with writing_to(target):
        sweep_aside(target)
        try:
            make_folder(waiting)
            yield waiting
            for folder, _, names in os.walk(waiting):
                for name in names:
                    _to_disk(Path(folder) / name)
                _to_disk(Path(folder))
            if not (replace and _exchange(waiting, target)):
                if replace:
                    target.rename(old)
                waiting.rename(target)  # in place of nothing, or of an empty folder
            _to_disk(target.parent)
        finally:
            if old.exists() and not target.exists():  # interrupted between the two renames
                old.rename(target)
            shutil.rmtree(waiting, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)


def make_folder(path: Path) -> None:
    """A folder, and those above it that are not there, their names brought to disk."""
    missing = [place for place in (path, *path.parents) if not place.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for place in missing:
        _to_disk(place.parent)


def finish_replacing(target: Path) -> None:
    """Complete a replacement of a folder whose writer was killed between its two renames.

    The old folder makes way only when the new one is whole, so that takes its place. A writer that
    may live is given a moment to do so itself.
    """
    target = target.absolute()
    late = time.monotonic() + REPLACING_SECONDS
    while not target.exists() and (old := _left(target)["old"]):
        writer, place = next(iter(old.items()))
        if writer is not None and _may_live(writer) and time.monotonic() < late:
            time.sleep(0.02)
            continue
        _left(target)["new"].get(writer, place).rename(target)
        shutil.rmtree(place, ignore_errors=True)


def is_free(target: Path) -> bool:
    """Whether nothing stands there but perhaps an empty folder."""
    return not target.exists() or (target.is_dir() and not any(target.iterdir()))


def free_folder(root: str | Path, stem: str) -> Path:
    """A path below ``root`` that does not exist yet: stem, stem-2, stem-3, ..."""
    path, number = Path(root) / stem, 1
    while path.exists():
        number += 1
        path = Path(root) / f"{stem}-{number}"
    return path


def aside(target: Path, what: str = "new") -> Path:
    """The place beside a target where this writer works."""
    if not target.name:
        raise WriteError(f"{target} has no name of its own that could be written; give another.")
    return target.with_name(f".{target.name}.{_writer()}.{what}")


def _writer() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}"


def sweep_aside(target: Path) -> None:
    """Remove what writers of this target that are no more left beside it, but what it needs."""
    finish_replacing(target)
    for left in _left(target).values():
        for writer, path in left.items():
            if writer is None or _may_live(writer):
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _left(target: Path) -> dict[str, dict[str | None, Path]]:
    """What stands aside of a target, by kind and writer; None for names of an earlier version."""
    kinds = ("new", "old", "parts", "probe")
    found: dict[str, dict[str | None, Path]] = {kind: {} for kind in kinds}
    name = re.compile(
        re.escape(f".{target.name}.") + r"(?:(.+-[0-9]+-[0-9]+)\.)?" + f"({'|'.join(found)})"
    )
    if target.parent.is_dir():
        for path in target.parent.iterdir():
            if match := name.fullmatch(path.name):
                found[match[2]][match[1]] = path
    return found


def _may_live(writer: str) -> bool:
    """Whether a writer, not this one, may be at work: of another host nothing is known."""
    if writer == _writer():
        return False
    host, process, _ = writer.rsplit("-", 2)
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it lives, as somebody else's
        return True
    return True


def _exchange(one: Path, other: Path) -> bool:
    """Let two names change places at once; False where the system or its disk cannot."""
    try:
        exchange = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, TypeError, AttributeError):  # it is Linux's own
        return False
    here, both = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if exchange(here, os.fsencode(one), here, os.fsencode(other), both) == 0:
        return True
    fault = ctypes.get_errno()
    if fault in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM):
        return False
    raise OSError(fault, os.strerror(fault), str(other))


# What systems say that cannot bring a folder to disk; an error of the disk is another.
NO_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EBADF, errno.EISDIR)


def _to_disk(path: Path) -> None:
    """Fsync of a file or a folder; a system that cannot do so with folders is let off."""
    try:
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        if not path.is_dir() or error.errno not in NO_FOLDERS:
            raise

"""Whole files and folders: written aside, brought to disk, then given their name.

Every file that hale writes at once goes through here, so that at any moment, also after a kill or
a power cut, each is the old or the new one. Nothing else in the project renames.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hale.errors import WriteError


def write_whole(target: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a file beside the target, bring it to disk, and put it in place.

    The file beside it has the number of this process in its name, so that two that write the same
    target do not meet; what processes that are gone left there is removed.
    """
    with writing_to(target):
        _sweep_aside(target)
        waiting = _aside(target)
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


@contextmanager
def whole_folder(target: Path, *, replace: bool) -> Iterator[Path]:
    """Yields a folder beside the target that takes its name once it is filled.

    With ``replace`` what stands there makes way, and comes back if the last step fails. On an
    error nothing is left, and the target is as it was.
    """
    target = target.absolute()
    waiting, old = (target.with_name(f".{target.name}.{what}") for what in ("new", "old"))
    with writing_to(target):
        try:
            finish_replacing(target)
            shutil.rmtree(waiting, ignore_errors=True)
            waiting.mkdir(parents=True)
            yield waiting
            for folder, _, names in os.walk(waiting):
                for name in names:
                    _to_disk(Path(folder) / name)
                _to_disk(Path(folder))
            if replace:
                shutil.rmtree(old, ignore_errors=True)  # of a replacement that was killed
                target.rename(old)
            try:
                waiting.rename(target)  # in place of nothing, or of an empty folder
            except OSError:
                if replace:
                    old.rename(target)
                raise
            _to_disk(target.parent)
            shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(waiting, ignore_errors=True)


def finish_replacing(target: Path) -> None:
    """Complete a replacement of a folder that was killed between its two renames."""
    target = target.absolute()
    waiting, old = (target.with_name(f".{target.name}.{what}") for what in ("new", "old"))
    if target.exists() or not old.exists():
        return
    (waiting if waiting.exists() else old).rename(target)  # the old moves when the new is whole
    shutil.rmtree(old, ignore_errors=True)


def is_free(target: Path) -> bool:
    """Whether nothing stands there but perhaps an empty folder."""
    return not target.exists() or (target.is_dir() and not any(target.iterdir()))


def _to_disk(path: Path) -> None:
    """Fsync of a file or folder; a system that cannot do so with folders is let off."""
    try:
        number = os.open(path, os.O_RDONLY)
    except PermissionError:
        if path.is_dir():
            return
        raise
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.new")


def _sweep_aside(target: Path) -> None:
    """Remove what writers of this target that are no more left beside it."""
    left = re.compile(re.escape(f".{target.name}.") + r"([0-9]+)\.new")
    for path in target.parent.glob(".*.new") if target.parent.is_dir() else ():
        found = left.fullmatch(path.name)
        if found and path.is_file() and not _is_alive(int(found[1])):
            path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True

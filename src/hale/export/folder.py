"""A folder that appears whole, with an about.json."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hale.errors import InputError

ABOUT = "about.json"


@contextmanager
def fresh_folder(
    path: str | Path, about: Mapping[str, Any], *, overwrite: bool = False
) -> Iterator[Path]:
    """Yields a temporary folder that takes the name ``path`` once it is filled.

    An earlier export there is replaced with ``overwrite``; anything else stays
    untouched. ``about`` is written beside the files.
    """
    target = Path(path).absolute()
    taken = target.exists() and not (target.is_dir() and not any(target.iterdir()))
    if taken and not overwrite:
        raise InputError(
            f"{path} exists. Choose another folder, or replace it with --overwrite "
            "(overwrite=True)."
        )
    if taken and not _is_export(target):
        raise InputError(f"{path} is not an export, so it is not overwritten. Choose another.")
    waiting, old = (target.with_name(f".{target.name}.{what}") for what in ("new", "old"))
    try:
        shutil.rmtree(waiting, ignore_errors=True)
        waiting.mkdir(parents=True)
        yield waiting
        text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
        (waiting / ABOUT).write_text(text, encoding="utf-8")
        _swap(waiting, target, old if taken else None)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(waiting, ignore_errors=True)


def _swap(waiting: Path, target: Path, old: Path | None) -> None:
    """Give ``waiting`` the name ``target``; what stood there comes back if that fails."""
    if old is None:
        waiting.rename(target)
        return
    shutil.rmtree(old, ignore_errors=True)
    target.rename(old)
    try:
        waiting.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def read_about(path: str | Path) -> dict[str, Any]:
    """What is said of an export."""
    file = Path(path) / ABOUT
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} is not an export: it has no {ABOUT}.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}.") from None
    if not isinstance(found, dict) or "export" not in found:
        raise InputError(f"{path} is not an export of hale.")
    return found


def _is_export(path: Path) -> bool:
    try:
        read_about(path)
    except InputError:
        return False
    return True

"""An export's folder, and what its about.json says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hale.data.files import (
    check_writable,
    finish_replacing,
    is_free,
    whole_folder,
    write_json,
    writing_to,
)
from hale.data.foreign import foreign
from hale.errors import InputError

ABOUT = "about.json"


@contextmanager
def export_folder(
    path: str | Path, about: Mapping[str, Any], *, overwrite: bool = False
) -> Iterator[Path]:
    """Yields a folder to fill, which takes the name ``path`` with ``about`` beside its files.

    An earlier export there is replaced with ``overwrite``; anything else stays
    untouched.
    """
    taken = is_taken(path, overwrite=overwrite)
    with whole_folder(Path(path).absolute(), replace=taken) as waiting:
        yield waiting
        files = sorted(path.name for path in waiting.iterdir())
        write_json(waiting / ABOUT, {**about, "files": files})


def is_taken(path: str | Path, *, overwrite: bool = False) -> bool:
    """Whether an export is there to be replaced; an error if it must not be, or cannot."""
    target = Path(path).absolute()
    with writing_to(target):
        finish_replacing(target)
    check_writable(target)
    taken = not is_free(target)
    if taken and not overwrite:
        raise InputError(
            f"{path} exists. Choose another folder, or replace it with --overwrite "
            "(overwrite=True)."
        )
    if taken and not _is_export(target):
        raise InputError(f"{path} is not an export, so it is not overwritten. Choose another.")
    # an export of an earlier version does not tell its files
    if taken and "files" in (about := read_about(target)):
        others = foreign(target, [*map(str, about["files"]), ABOUT])
        if others:
            raise InputError(
                f"{path} holds what the export there did not write, and would go with it: "
                f"{others}. Move that elsewhere, or choose another folder."
            )
    return taken


def read_about(path: str | Path) -> dict[str, Any]:
    """What is said of an export."""
    file = Path(path) / ABOUT
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} is not an export: it has no {ABOUT}.") from None
    except (OSError, ValueError, RecursionError) as error:
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

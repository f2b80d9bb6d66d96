"""Damaged files of results: one that cannot be read counts as missing, and that is told."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from zipfile import BadZipFile

from hale.errors import HaleWarning, InputError
from hale.runs.blame import FOREIGN

T = TypeVar("T")

FAULTS = (*FOREIGN, BadZipFile, zlib.error, InputError)


def read_or_miss(path: Path, read: Callable[[Path], T]) -> T | None:
    """What a file holds; None, with a warning that names it, where it cannot be read."""
    try:
        return read(path)
    except (*FAULTS, OSError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # the disk's fault, or that of whoever may not read it
        detail = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        warnings.warn(
            f"{path} is damaged ({detail}), so it counts as missing. Remove it, or put the file "
            "back that was there.",
            HaleWarning,
            stacklevel=2,
        )
        return None

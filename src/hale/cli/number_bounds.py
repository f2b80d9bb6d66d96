"""Numbers that no option takes: nan and infinity, which bounds let through, and over 64 bits."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import get_args

from hale.errors import InputError

MOST = 2**63 - 1  # what libraries count with


def check_numbers(command: Callable[..., object], given: Mapping[str, object]) -> None:
    """Refuse an option of a command that was given nan, infinity or a whole number past 64 bits."""
    for name, value in given.items():
        if isinstance(value, int) and abs(value) > MOST:
            raise InputError(f"{_flag(command, name)} takes a whole number up to {MOST:,}.")
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{_flag(command, name)} takes a finite number, got {value}.")


def _flag(command: Callable[..., object], name: str) -> str:
    """An option as it is typed."""
    annotation = inspect.signature(command, eval_str=True).parameters[name].annotation
    infos = get_args(annotation)[1:]
    words = [  # typer keeps the first flag of an annotation where a default would be
        word
        for info in infos
        for word in (getattr(info, "default", None), *(getattr(info, "param_decls", None) or ()))
    ]
    flags = (word for word in words if isinstance(word, str) and word.startswith("-"))
    return next(flags, f"--{name.replace('_', '-')}")

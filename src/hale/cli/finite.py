"""Numbers that are none: nan lies within the bounds of an option, or it has none."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import get_args

from hale.errors import InputError


def check_finite(command: Callable[..., object], given: Mapping[str, object]) -> None:
    """Refuse an option of a command that was given nan or infinity."""
    for name, value in given.items():
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

"""Values of settings that people write in several ways: times, intervals, blocks."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


LONGEST = 1e9  # seconds: thirty years


def parse_duration(value: object) -> float:
    """Seconds from a number or a text such as '60s', '10m', '1.5h'."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", str(value).lower())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"a time looks like 60s, 10m or 1.5h, got {value!r}")
    seconds = float(match[1]) * _UNITS[match[2]]
    if seconds > LONGEST:  # a text of digits may be infinite
        raise ValueError(f"a time is at most {LONGEST:.0e} seconds, got {str(value)[:30]!r}")
    return seconds


def as_text(value: object) -> object:
    """A whole number as text, which may be one."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def path_as_text(value: object) -> object:
    """A path as text."""
    return str(value) if isinstance(value, Path) else value


def paths_as_texts(value: object) -> object:
    """Several paths, or one, as texts."""
    given = [value] if isinstance(value, str | Path) else value
    return tuple(map(path_as_text, given)) if isinstance(given, list | tuple) else value


def numbers(value: object) -> object:
    """Numbers as a tuple, from a text with commas too."""
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(parts) if isinstance(parts, list | tuple) else value


def parse_block(value: object) -> int | float | str:
    """A number of entities from 1 on, a share of them below 1, or 'all'."""
    if isinstance(value, str) and value.strip().lower() == "all":
        return "all"
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if 0 < number < 1:
        return number
    whole = number >= 1 and number.is_integer()  # infinity is none
    if whole and not isinstance(value, bool):
        return int(number)
    raise ValueError(f"a block is a number of entities, a share (0.1) or all, got {value!r}")


Duration = Annotated[float, BeforeValidator(parse_duration)]


class Interval(BaseModel):
    """The distance between two validations: seconds of training, or epochs."""

    model_config = ConfigDict(frozen=True)

    seconds: float | None = None
    epochs: int | None = None

    @classmethod
    def parse(cls, text: str) -> Interval:
        """Read '15s', '2m' as a time and '5' as a number of epochs."""
        if re.fullmatch(r"\s*[0-9]+\s*", text):
            if int(text) < 1:
                raise ValueError("validate_every is at least one epoch")
            return cls(epochs=int(text))
        if not re.search(r"[a-z]", text.lower()):
            raise ValueError(
                f"validate_every is a time with its unit (15s) or whole epochs, got {text!r}"
            )
        seconds = parse_duration(text)
        if seconds <= 0:
            raise ValueError("validate_every is a positive time")
        return cls(seconds=seconds)

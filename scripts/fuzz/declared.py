"""What the commands of hale declare of themselves: names, options, what each takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Words of a help text that may be values: `auto, cpu, cuda or mps`.
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9@.+-]*")


@dataclass(frozen=True)
class Parameter:
    """An argument or option: what it is called, and what may be given."""

    name: str
    flags: tuple[str, ...]  # none: an argument
    kind: type  # int, float, bool, Path or str
    required: bool
    several: bool
    default: object
    least: float | None
    most: float | None
    metavar: str
    words: tuple[str, ...]  # of its help


@dataclass(frozen=True)
class Command:
    """A command, by the words that call it."""

    path: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    @property
    def name(self) -> str:
        """As it is typed."""
        return " ".join(self.path)


def commands() -> list[Command]:
    """All commands that hale has, those below others too."""
    from hale.cli.app import COMMANDS, load_command

    return [
        Command(path, tuple(_parameter(one) for one in found.params))
        for name in COMMANDS
        for path, found in _leaves((name,), load_command(name))
    ]


def _leaves(path: tuple[str, ...], found: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    below = getattr(found, "commands", None)
    if not below:
        yield path, found
        return
    for name, one in below.items():
        yield from _leaves((*path, name), one)


def _parameter(one: Any) -> Parameter:
    is_option = one.param_type_name == "option"
    text = str(getattr(one, "help", None) or "")
    return Parameter(
        name=str(one.name),
        flags=(*one.opts, *one.secondary_opts) if is_option else (),
        kind=bool if getattr(one, "is_flag", False) else _kind(one),
        required=bool(one.required),
        several=bool(one.multiple),
        default=one.default,
        least=getattr(one, "min", None),
        most=getattr(one, "max", None),
        metavar=str(one.metavar or one.name).strip("[]").upper(),
        words=tuple(dict.fromkeys(word.rstrip(".") for word in WORD.findall(text))),
    )


def _kind(one: Any) -> type:
    """What the words become; anything that is no number and no path is text."""
    annotation = one.type_descriptor.annotation
    return annotation if annotation in (int, float, Path) else str

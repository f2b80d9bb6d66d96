"""How the command line offers a setting, where its name and default do not say it."""

from __future__ import annotations

from dataclasses import dataclass

BY_SYSTEM = "as suits the model and the strategy"  # told by their classes


@dataclass(frozen=True)
class Flags:
    """The flags of one setting, and its default in words."""

    names: tuple[str, ...] = ()  # --its-name if empty, with --no-its-name if it is yes or no
    unset: str | None = None  # in words, what happens where it is not given

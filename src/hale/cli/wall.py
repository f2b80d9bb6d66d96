"""The wait: the seconds of a whole command by part, for its last line."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hale import cli

OTHER = "other"


class WallTime:
    """Seconds since the command was called, and what they went to."""

    def __init__(self) -> None:
        self.began = time.perf_counter() if cli.started is None else cli.started
        cli.started = None  # of the first command that this process runs
        self.parts: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """The seconds of the context are this part's."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.parts[name] = self.parts.get(name, 0.0) + time.perf_counter() - began

    def load(self) -> None:
        """What went by until now was loading."""
        self.parts["load"] = time.perf_counter() - self.began

    def add(self, parts: Mapping[str, float]) -> None:
        """Seconds that others counted."""
        for name, seconds in parts.items():
            self.parts[name] = self.parts.get(name, 0.0) + seconds

    def as_dict(self) -> dict[str, Any]:
        """The whole, and its parts; what none of them was for is the last."""
        whole = time.perf_counter() - self.began
        rest = max(0.0, whole - sum(self.parts.values()))
        return {"seconds": whole, "by_part": {**self.parts, OTHER: rest}}

    def line(self) -> str:
        """All in one line."""
        told = self.as_dict()
        parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in told["by_part"].items())
        return f"took {told['seconds']:.1f} s: {parts}"

"""Stopwatch: seconds by part."""

from __future__ import annotations

import time


class Stopwatch:
    """Seconds by part."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}
        self.began = time.perf_counter()

    def lap(self, part: str) -> float:
        """The seconds since the last look go to this part."""
        taken = self.skip()
        self.parts[part] = self.parts.get(part, 0.0) + taken
        return taken

    def skip(self) -> float:
        """They go to none."""
        before, self.began = self.began, time.perf_counter()
        return self.began - before

"""Progress without a terminal's tricks: one line that renews itself, and one a validation."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from hale.runs.run import Record
from hale.training.stopping import Clock

REFRESH_SECONDS = 0.2


class ProgressLine:
    """An observer that writes to stderr, for scripts and notebooks.

    On a terminal and in a notebook a line is renewed as steps are made; elsewhere, as in a file,
    there is a line for each validation alone.
    """

    def __init__(self) -> None:
        self.stream = sys.stderr
        self.renews = self.stream.isatty() or type(self.stream).__module__.startswith("ipykernel")
        self.shown = 0.0
        self.width = 0  # of the line that is to be renewed

    def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
        """Renew the line, a few times a second."""
        now = time.monotonic()
        if not self.renews or now - self.shown < REFRESH_SECONDS:
            return
        self.shown = now
        line = f"{progress:4.0%}  {clock.seconds:.0f} s  step {clock.step:,}  {_parts(losses)}"
        self.stream.write("\r" + line.ljust(self.width))
        self.stream.flush()
        self.width = len(line)

    def validated(self, record: Record, *, kept: bool) -> None:
        """Leave a line."""
        line = validation_line(record, kept=kept)
        back = "\r" if self.width else ""
        self.stream.write(f"{back}{line.ljust(self.width)}\n")
        self.stream.flush()
        self.width = 0


def validation_line(record: Record, *, kept: bool) -> str:
    """What a validation found, with a star where its state is kept."""
    quality = "no valid split"
    if record.metrics:
        quality = f"valid MRR {record.metrics['mrr']:.3f}  Hits@10 {record.metrics['hits@10']:.3f}"
    mark = "  *" if kept else ""
    losses = _parts(record.losses)
    return f"{record.seconds:7.1f} s  epoch {record.epoch:6.1f}  {losses}  {quality}{mark}"


def _parts(losses: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.3f}" for name, value in losses.items())

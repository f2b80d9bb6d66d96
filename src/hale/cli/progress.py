"""Progress on stderr: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from hale.cli.controls import escape_controls
from hale.data.progress import Announce
from hale.data.progress import Progress as ByteProgress
from hale.runs.run import Record
from hale.training.progress_line import validation_line
from hale.training.stopping import Clock

REFRESH_SECONDS = 0.2
# Where there is no terminal for a bar, a line as often as this.
SECONDS_BETWEEN_LINES = 10.0
# A file of so many bytes takes about a second to read, so that a bar is worth showing.
BAR_BYTES = 1 << 25


class LiveProgress:
    """Shows a run as it trains: a bar on a terminal, a line a validation elsewhere."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bar = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
        )
        self.task = self.bar.add_task("starting", total=1.0)
        self.best: float | None = None
        self.work = ""
        self.shown = 0.0

    @contextmanager
    def live(self) -> Iterator[LiveProgress]:
        """Show the bar while the context lasts, if there is a terminal."""
        if not self.console.is_terminal:
            yield self
            return
        with self.bar:
            yield self

    def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
        """Move the bar, a few times a second."""
        now = time.monotonic()
        if now - self.shown < REFRESH_SECONDS:
            return
        self.shown = now
        parts = "  ".join(f"{name} {value:.3f}" for name, value in losses.items())
        best = "" if self.best is None else f"  best valid MRR {self.best:.3f}"
        text = f"{clock.seconds:.0f} s  step {clock.step:,}  {parts}{best}"
        self.bar.update(self.task, completed=progress, total=1.0, description=text)

    def working(self, what: str, done: int = 0, total: int | None = None) -> None:
        """Show what is done beside training: how much of it, or that it goes on."""
        now, text = time.monotonic(), what
        if total is not None:
            text = f"{what}, {done:,} of {total:,}"
        if self.console.is_terminal:
            self.bar.update(self.task, completed=done, total=total, description=text, refresh=True)
        elif what != self.work:
            self.work, self.shown = what, now
        elif now - self.shown >= SECONDS_BETWEEN_LINES:
            self.shown = now
            self.console.print(text)

    def ranking(self, done: int, total: int) -> None:
        """Show how many triples are ranked."""
        self.working("ranking triples", done, total)

    def validated(self, record: Record, *, kept: bool) -> None:
        """Leave a line for each validation."""
        if kept and record.metrics:
            self.best = record.metrics["mrr"]
        self.console.print(validation_line(record, kept=kept), highlight=False)


@contextmanager
def loading_bars(console: Console) -> Iterator[tuple[Announce, Announce]]:
    """Yields what ``datasets.load`` calls to announce a transfer, and what to announce a file.

    A file has a bar on a terminal alone, and only one that takes a while; it goes when it is read.
    """
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        console=console,
    )

    def transfer(url: str) -> ByteProgress:
        bars.start()
        task = bars.add_task(escape_controls(url.rsplit("/", 1)[1]), total=None)
        return lambda done, total: bars.update(task, completed=done, total=total)

    def reading(path: str) -> ByteProgress:
        name = escape_controls(path.rsplit("/", 1)[-1])
        tasks: list[TaskID] = []

        def follow(done: int, total: int | None) -> None:
            if total is None or total < BAR_BYTES or not console.is_terminal:
                return
            if not tasks:
                bars.start()
                tasks.append(bars.add_task(f"reading {name}", total=total))
            bars.update(tasks[0], completed=done, visible=done < total)

        return follow

    try:
        yield transfer, reading
    finally:
        if bars.tasks:  # stopping bars that never ran would print an empty line
            bars.stop()


@contextmanager
def query_progress(console: Console, what: str = "queries") -> Iterator[Callable[[int, int], None]]:
    """Yields what to call with the queries done and in all: a bar, or now and then a line."""
    if not console.is_terminal:
        shown = time.monotonic()

        def line(done: int, total: int) -> None:
            nonlocal shown
            if time.monotonic() - shown >= SECONDS_BETWEEN_LINES:
                shown = time.monotonic()
                console.print(f"{done:,} of {total:,} {what}")

        yield line
        return
    bar = Progress(
        BarColumn(bar_width=24),
        TextColumn(f"{{task.completed:,}} of {{task.total:,}} {what}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=1)
        yield lambda done, total: bar.update(task, completed=done, total=total)

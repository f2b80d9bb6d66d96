"""What a person sees: live progress on stderr, tables on stdout."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
)
from rich.table import Table

from hale.data.datasets.download import Progress as ByteProgress
from hale.runs.run import Record
from hale.training.stopping import Clock

REFRESH_SECONDS = 0.2


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
        self.bar.update(self.task, completed=progress, description=text)

    def validated(self, record: Record, *, kept: bool) -> None:
        """Leave a line for each validation."""
        parts = "  ".join(f"{name} {value:.3f}" for name, value in record.losses.items())
        quality = "no valid split"
        if record.metrics:
            quality = (
                f"valid MRR {record.metrics['mrr']:.3f}  Hits@10 {record.metrics['hits@10']:.3f}"
            )
            self.best = record.metrics["mrr"] if kept else self.best
        mark = "  *" if kept else ""
        self.console.print(
            f"{record.seconds:7.1f} s  epoch {record.epoch:6.1f}  {parts}  {quality}{mark}",
            highlight=False,
        )


@contextmanager
def download_bars(console: Console) -> Iterator[Any]:
    """Yields what ``datasets.load`` calls to announce a transfer."""
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        console=console,
    )

    def announce(url: str) -> ByteProgress:
        bars.start()
        task = bars.add_task(url.rsplit("/", 1)[1], total=None)
        return lambda done, total: bars.update(task, completed=done, total=total)

    try:
        yield announce
    finally:
        if bars.tasks:  # stopping bars that never ran would print an empty line
            bars.stop()


def metrics_table(reports: Mapping[str, Mapping[str, Any]], title: str) -> Table:
    """One row of metrics per name."""
    table = Table(title=title, title_justify="left", box=None, header_style="bold")
    table.add_column("")
    for column in ("MRR", "Hits@1", "Hits@3", "Hits@10", "mean rank", "ranks"):
        table.add_column(column, justify="right")
    for name, metrics in reports.items():
        table.add_row(
            name,
            *(f"{metrics[key]:.4f}" for key in ("mrr", "hits@1", "hits@3", "hits@10")),
            f"{metrics['mean_rank']:,.1f}",
            f"{metrics['count']:,}",
        )
    return table


def settings_table(values: Mapping[str, Any], title: str) -> Table:
    """Names and values, one a row."""
    table = Table(title=title, title_justify="left", box=None, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in values.items():
        table.add_row(name, "-" if value is None else str(value))
    return table

"""Watching: a run trained under the eyes of several observers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hale.data.files import free_folder
from hale.runs.run import Record, Run
from hale.training.observer import Observer, tell
from hale.training.progress_line import ProgressLine
from hale.training.stopping import Clock
from hale.training.tracking import tracker_class
from hale.training.tracking.tracker import Tracker
from hale.training.trainer import Trainer


class Several:
    """An observer that tells others."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = observers

    def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
        """Tell them of a step."""
        for one in self.observers:
            one.stepped(clock, progress, losses)

    def validated(self, record: Record, *, kept: bool) -> None:
        """Tell them of a validation."""
        for one in self.observers:
            one.validated(record, kept=kept)

    def working(self, what: str, done: int = 0, total: int | None = None) -> None:
        """Tell those who want to know what takes a while."""
        for one in self.observers:
            tell(one, what, done, total)


def with_progress(observer: Observer | None, progress: bool) -> Observer | None:
    """The observer and, if it is wanted, a line of progress on stderr."""
    if not progress:
        return observer
    return Several([*([] if observer is None else [observer]), ProgressLine()])


def fit_watched(
    trainer: Trainer,
    *,
    progress: bool = False,
    track: str | None = None,
    fit: Callable[[], Run] | None = None,
) -> Run:
    """Train, with a line of progress on stderr and a tracker if they are wanted.

    What is tracked of a run in memory goes to a folder of its own below runs. ``fit`` trains, if it
    is not to be the trainer alone.
    """
    trainer.observer = with_progress(trainer.observer, progress)
    fit = trainer.fit if fit is None else fit
    if track is None:
        return fit()
    tracker = _tracker(trainer, track)
    watching = [] if trainer.observer is None else [trainer.observer]
    trainer.observer = Several([*watching, tracker])
    try:
        run = fit()
    except BaseException:
        tracker.close(None)
        raise
    tracker.close(run.summary)
    return run


def _tracker(trainer: Trainer, track: str) -> Tracker:
    settings = trainer.settings
    name = f"{trainer.graph.name}-{settings.model}-{settings.dim}"
    kind = tracker_class(track)
    folder = free_folder(Path("runs"), f"{name}-{track}")
    if trainer.folder is not None:
        name, folder = trainer.folder.path.absolute().name, trainer.folder.path
    folder.mkdir(parents=True, exist_ok=True)
    return kind(name, settings, folder, step=trainer.state.clock.step)

"""Observer: who is told how a run goes."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from hale.runs.run import Record
from hale.training.stopping import Clock


class Observer(Protocol):
    """Watches a run. Both calls are made outside the training clock."""

    def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
        """A step was made; ``progress`` runs from 0 to 1."""

    def validated(self, record: Record, *, kept: bool) -> None:
        """A validation was made; ``kept`` if its state is, for now."""


@runtime_checkable
class Follower(Protocol):
    """An observer that is also told of what takes a while beside training."""

    def working(self, what: str, done: int = 0, total: int | None = None) -> None:
        """``what`` is being done: ``done`` of ``total``, or nobody knows how much there is."""


def tell(observer: Observer | None, what: str, done: int = 0, total: int | None = None) -> None:
    """Say what is being done, to an observer that wants to know."""
    if isinstance(observer, Follower):
        observer.working(what, done, total)

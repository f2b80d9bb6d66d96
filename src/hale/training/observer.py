"""Observer: who is told how a run goes."""

from __future__ import annotations

from typing import Protocol

from hale.runs.run import Record
from hale.training.stopping import Clock


class Observer(Protocol):
    """Watches a run. Both calls are made outside the training clock."""

    def stepped(self, clock: Clock, progress: float, losses: dict[str, float]) -> None:
        """A step was made; ``progress`` runs from 0 to 1."""

    def validated(self, record: Record, *, kept: bool) -> None:
        """A validation was made; ``kept`` if its state is, for now."""

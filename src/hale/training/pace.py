"""Pace: how long steps take and what is to be done after one, by the clock of rank 0 for all.

Ranks that looked at clocks of their own would part ways. So rank 0 says, in the last collective of
a step, how long it took and whether to save; any rank may say that it was told to stop. What a step
does after that collective counts in the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor

NANO = 1_000_000_000


class Pace:
    """Seconds of a step, whether to stop, and whether to save."""

    def __init__(self, *, leads: bool = True) -> None:
        self.leads = leads
        self.seconds = 0.0  # of the last step
        self._stop = self._save = False
        self.told_to_stop: Callable[[], bool] = _no
        self.due: Callable[[], bool] = _no
        self._began = time.perf_counter()
        self._said = self._shared = False
        self._left = 0.0  # seconds of the step before that nobody has counted

    def begin(self) -> None:
        """A step begins: what lies between two is no training."""
        self._began, self._said = time.perf_counter(), False

    def say(self) -> Tensor:
        """What this rank says, to be summed over all: nanoseconds, stop, save."""
        before, self._began, self._said = self._began, time.perf_counter(), True
        taken = self._left + self._began - before
        save = self.leads and self.due()
        said = [round(NANO * taken) if self.leads else 0, self.told_to_stop(), save]
        return torch.tensor(said, dtype=torch.int64)

    def hear(self, said: Tensor) -> None:
        """What all said."""
        taken, stop, save = said.tolist()
        self.seconds, self._stop, self._save = taken / NANO, stop > 0, save > 0

    def end(self) -> None:
        """The step is over; what it has not said is said here, to nobody else."""
        self._shared = self._said
        if not self._said:
            self.hear(self.say())
        else:
            self._left = time.perf_counter() - self._began

    @property
    def stop(self) -> bool:
        """Whether to stop: as all ranks heard it, or as it is now where there is but one."""
        return self._stop if self._shared else self.told_to_stop()

    @property
    def save(self) -> bool:
        """Whether to save."""
        return self._save if self._shared else self.due()


def _no() -> bool:
    return False

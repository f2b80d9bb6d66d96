"""How much of its threads' time a piece of work has: less than one where others run beside."""

from __future__ import annotations

import time

import torch


class CpuShare:
    """Measured from the moment it is made."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def of(self, threads: int | None) -> float:
        """CPU seconds since then, by those of a clock and of the threads; None: all of them."""
        wall, cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu
        return cpu / (wall * (threads or torch.get_num_threads()))

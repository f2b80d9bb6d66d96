"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any

import torch

PEAK_SIZE = 2048


def machine() -> dict[str, Any]:
    """Processor, cores, threads and versions."""
    cpuinfo = Path("/proc/cpuinfo")
    names = []
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


class Peak:
    """The machine's matrix-product peak: 2048 x 2048 in float32, the best seen so far."""

    def __init__(self) -> None:
        self._left = torch.randn(PEAK_SIZE, PEAK_SIZE)
        self._right = torch.randn(PEAK_SIZE, PEAK_SIZE)
        self.gflops = 0.0

    def measure(self) -> None:
        """Take the product once more; called between other measurements."""
        began = time.perf_counter()
        torch.mm(self._left, self._right)
        self.gflops = max(self.gflops, 2e-9 * PEAK_SIZE**3 / (time.perf_counter() - began))

"""Memory of this process."""

from __future__ import annotations

import resource
import sys


def peak_mb() -> float:
    """The most memory that this process has held, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024

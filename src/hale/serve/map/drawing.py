"""Drawing: the process that makes a layout by t-SNE and keeps it with the run.

    python -m hale.serve.map.drawing RUN

A process of its own, and a polite one: the server answers meanwhile. It tells on stdout how far it
is, a line of JSON at a time, and ends with the one who started it, whose end closes its stdin.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

from hale.errors import HaleError
from hale.serve.map.first_sight import first_sight
from hale.serve.map.map_file import Layout, write_map
from hale.serve.map.projection import tsne

POLITENESS = 10
SECONDS = 0.5  # between two lines


def main(run: Path) -> None:
    """Lay out, find clusters, write map.parquet."""
    last = 0.0

    def tell(share: float, doing: str) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS:
            last = time.monotonic()
            _say(share=share, doing=doing)

    seen = first_sight(run)
    _say(share=0.0, doing="reading")
    layout = Layout.of("tsne", tsne(seen.places, progress=tell), seen.graph)
    write_map(run, seen.graph, layout, seen.weights)
    _say(share=1.0, doing="done")


def _say(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(POLITENESS)
    try:
        main(Path(sys.argv[1]))
    except (HaleError, OSError, ValueError, MemoryError) as error:
        _say(error=str(error) or type(error).__name__)
        sys.exit(1)

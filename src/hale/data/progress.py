"""Progress: what is called while bytes arrive, from the network or from a file."""

from __future__ import annotations

from collections.abc import Callable

# Called with (bytes so far, total bytes or None).
Progress = Callable[[int, int | None], None]

# Called with the URL or the path when a transfer or a file begins; returns what follows the bytes.
Announce = Callable[[str], Progress]

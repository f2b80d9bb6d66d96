"""Ctrl-C as a wish, not an exception: no training step is torn."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Seconds in which signals are one wish: of Ctrl-C a rank hears from the terminal and from torchrun.
ONE_WISH = 2.0


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """SIGINT and SIGTERM set the event; one that comes later acts as it did before."""
    stop = threading.Event()
    told = 0.0
    if threading.current_thread() is not threading.main_thread():
        yield stop  # Python lets only the main thread handle signals
        return
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal told
        if not stop.is_set():
            told = time.monotonic()
            stop.set()
        elif time.monotonic() - told > ONE_WISH:
            signal.signal(number, former[signal.Signals(number)])
            signal.raise_signal(number)

    for number in former:
        signal.signal(number, handle)
    try:
        yield stop
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)

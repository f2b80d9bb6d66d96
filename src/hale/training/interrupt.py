"""Ctrl-C as a wish, not an exception: no training step is torn."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """SIGINT and SIGTERM set the event; a second one acts as it did before."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # Python lets only the main thread handle signals
        return
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, _frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, former[signal.Signals(number)])

    for number in former:
        signal.signal(number, handle)
    try:
        yield stop
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)

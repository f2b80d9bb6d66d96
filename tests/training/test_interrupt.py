"""Signals as wishes."""

from __future__ import annotations

import signal

import pytest

from hale.training import interrupt


def test_what_comes_at_once_is_one_wish() -> None:
    with interrupt.stop_on_signal() as stop:
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(number)
        assert stop.is_set()


def twice() -> None:
    with interrupt.stop_on_signal() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        signal.raise_signal(signal.SIGINT)


def test_who_is_impatient_later_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupt, "ONE_WISH", -1.0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            twice()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)

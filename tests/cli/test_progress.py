"""Bars while a graph is loaded: for what takes long, where there is a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from hale.cli.progress import BAR_BYTES, loading_bars


def shown(total: int | None, *, terminal: bool) -> str:
    """What stands on the console after half of a file."""
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
    with loading_bars(console) as (_, reading):
        follow = reading("/folder/facts.tsv")
        follow((total or 2) // 2, total)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_large_file_has_a_bar() -> None:
    assert "reading facts.tsv" in shown(BAR_BYTES, terminal=True)
    assert "16.8/33.6 MB" in shown(BAR_BYTES, terminal=True)


@pytest.mark.parametrize(
    ("total", "terminal"), [(BAR_BYTES - 1, True), (None, True), (BAR_BYTES, False)]
)
def test_others_have_none(total: int | None, terminal: bool) -> None:
    assert shown(total, terminal=terminal) == ""


def test_the_bar_of_a_transfer_stays_and_that_of_a_file_goes() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with loading_bars(console) as (transfer, reading):
        transfer("https://host/facts.tsv.gz")(5, 5)
        reading("other.tsv")(BAR_BYTES, BAR_BYTES)
    assert isinstance(console.file, io.StringIO)
    last = console.file.getvalue().rsplit("\x1b[2K", 1)[-1]
    assert "facts.tsv.gz" in last
    assert "other.tsv" not in last

"""Opening: the browser led to an address that no list of processes shows.

A browser is a process, and what it is started with can be read by every user of the machine. So it
is started with a file that only its owner may read, and that leads to the address.
"""

from __future__ import annotations

import html
import os
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def open_browser(address: str, *, beside: Path) -> Iterator[None]:
    """Open an address; the file that leads there goes when the context ends.

    It lies in the folder ``beside``, since browsers in a sandbox of their own (snap, flatpak) see
    the folders of their user and not the system's temporary one, which is taken where that cannot
    be written.
    """
    to = html.escape(address)
    page = (
        f'<!doctype html><meta http-equiv="refresh" content="0; url={to}"><a href="{to}">hale</a>'
    )
    path = _private_file(page, beside)
    try:
        webbrowser.open(path.as_uri())
        yield
    finally:
        path.unlink(missing_ok=True)


def _private_file(text: str, folder: Path) -> Path:
    """A new file that only its owner may read (mode 0600)."""
    try:
        number, name = tempfile.mkstemp(prefix="open-", suffix=".html", dir=folder)
    except OSError:
        number, name = tempfile.mkstemp(prefix="open-", suffix=".html")
    with os.fdopen(number, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(name).absolute()

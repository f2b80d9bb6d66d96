"""The browser is started with a file that only its owner reads, never with the token."""

from __future__ import annotations

import html
import re
import stat
import webbrowser
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

from hale.serve.opening import open_browser

ADDRESS = "http://127.0.0.1:8000/?token=secret&entity=a"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a browser was started with."""
    found: list[str] = []
    monkeypatch.setattr(webbrowser, "open", found.append)
    return found


def test_a_private_file_leads_there_and_goes(opened: list[str], tmp_path: Path) -> None:
    with open_browser(ADDRESS, beside=tmp_path):
        (given,) = opened
        assert "secret" not in given
        file = Path(url2pathname(urlparse(given).path))
        assert file.parent == tmp_path
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        (target,) = re.findall(r'content="0; url=([^"]*)"', file.read_text())
        assert html.unescape(target) == ADDRESS
    assert list(tmp_path.iterdir()) == []


def test_it_goes_however_the_server_ends(opened: list[str], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), open_browser(ADDRESS, beside=tmp_path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written(opened: list[str], tmp_path: Path) -> None:
    with open_browser(ADDRESS, beside=tmp_path / "nothing"):
        (given,) = opened
        file = Path(url2pathname(urlparse(given).path))
        assert ADDRESS in html.unescape(file.read_text())
    assert not file.exists()

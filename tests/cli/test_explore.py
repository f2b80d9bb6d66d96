"""hale explore: what it refuses, and that it serves until it is told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

from hale.serve.pages import rendering
from tests.cli.invoke import hale


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands in for what the build makes."""
    folder = tmp_path / "static"
    folder.mkdir()
    for name in rendering.BUNDLE:
        (folder / name).write_text("/* nothing */")
    monkeypatch.setattr(rendering, "STATIC", folder)
    return folder


def test_without_the_bundle_it_says_what_to_do(run: Path, bundle: Path) -> None:
    (bundle / "map.js").unlink()
    result = hale("explore", run, "--no-browser")
    assert result.exit_code == 2
    assert "make setup" in result.stderr
    assert "hale serve" in result.stderr


@pytest.mark.usefixtures("bundle")
def test_what_is_no_run_is_told_before_anything_is_opened(tmp_path: Path) -> None:
    result = hale("explore", tmp_path / "nothing", "--no-browser")
    assert result.exit_code == 2
    assert "There is no run" in result.stderr
    assert result.stdout == ""


@pytest.mark.usefixtures("bundle")
def test_a_damaged_run_is_told(run: Path) -> None:
    (run / "triples.safetensors").write_bytes(b"nothing")
    result = hale("explore", run, "--no-browser")
    assert result.exit_code == 2
    assert "triples.safetensors is not the file that it was made with" in result.stderr


@pytest.mark.usefixtures("bundle")
def test_other_machines_need_a_token_that_was_chosen(run: Path) -> None:
    result = hale("explore", run, "--no-browser", "--host", "0.0.0.0")
    assert result.exit_code == 2
    assert "--token" in result.stderr


def test_the_printed_address_opens_the_map_until_it_is_interrupted(
    run: Path, bundle: Path, tmp_path: Path
) -> None:
    """And the browser that it starts is told neither the token nor where it can be read by all."""
    code = (
        "import sys; from pathlib import Path; from hale.serve.pages import rendering\n"
        f"rendering.STATIC = Path({str(bundle)!r})\n"
        "from hale.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "explore", str(run)]
    noted = tmp_path / "noted"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {noted}.new && mv {noted}.new {noted}\n')
    browser.chmod(0o700)
    environment = {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "HALE_TOKEN": "of the environment",
        "BROWSER": f"{browser} %s",
    }
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as child:
        assert child.stdout is not None
        address = child.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("/?token=of+the+environment")
        cookies = urllib.request.HTTPCookieProcessor()
        with urllib.request.build_opener(cookies).open(address) as answer:
            assert "token" not in answer.url
            assert b'id="map"' in answer.read()
        late = time.monotonic() + 60
        while not noted.is_file() and time.monotonic() < late:
            time.sleep(0.02)
        started_with = noted.read_text()
        assert "environment" not in started_with
        assert Path(url2pathname(urlparse(started_with.strip()).path)).parent == run.absolute()
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
    assert child.returncode == 130, said
    assert list(run.glob("*.html")) == []

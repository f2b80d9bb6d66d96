"""hale serve: what is refused before anything is loaded, and a server as a user starts it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.cli.invoke import assert_refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "--host 0.0.0.0 lets other machines ask. Choose a token"),
        (["--token", "short"], "A token has at least 8 characters, got 5."),
        (["--host", "192.0.2.1", "--token", "long enough"], "Cannot listen at 192.0.2.1, port"),
        (["--host", "\0", "--token", "long enough"], "must not contain null"),
        (["--host", "a" * 64 + ".b", "--token", "long enough"], "Cannot listen at aaaa"),
        (["--port", "65536"], "65535"),
    ],
)
def test_what_cannot_be_served(run: Path, options: list[str], message: str) -> None:
    assert_refused(["serve", str(run), *options], message, beside=["run"])


def test_a_run_that_is_not_there(run: Path) -> None:
    assert_refused(["serve", "nothing", "--port", "0"], "There is no run", beside=["run"])


def test_a_port_that_is_taken(run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert_refused(["serve", str(run), "--port", port], "Choose another --port")


def test_it_prints_where_and_the_token_and_ends_when_told(run: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "hale", "serve", str(run), "--port", "0"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stderr is not None
            address = server.stdout.readline().strip()
            token = server.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            name, _, value = token.partition(": ")
            assert name == "Authorization"
            asked = urllib.request.Request(address, headers={name: value})
            with urllib.request.urlopen(asked, timeout=20) as told:
                assert json.load(told)["entities"] == 24
            server.send_signal(signal.SIGINT)
            assert server.wait(20) in (0, 130, -signal.SIGINT)
            assert "Traceback" not in server.stderr.read()
        finally:
            server.kill()

"""Hosts in network namespaces: what is missing is told, and nothing is left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from hale.errors import HaleError, InputError
from hale.lab.bench.hosts import Hosts, Line, check_tools


def test_who_may_not_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HaleError, match="need root"):
        check_tools()


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "tc" else name)
    with pytest.raises(HaleError, match="'tc'.*apt-get install iproute2"):
        check_tools()


@pytest.mark.parametrize(
    ("number", "line"), [(0, Line()), (65, Line()), (2, Line(-1.0)), (2, Line(1.0, 0.0))]
)
def test_faults_are_told_before_anything_is_made(number: int, line: Line) -> None:
    with pytest.raises(InputError):
        Hosts(number, line)


def namespaces() -> set[str]:
    told = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True)
    return {line.split()[0] for line in told.stdout.splitlines() if line.startswith("hale-")}


ANSWER = """
import socket
server = socket.create_server(("0.0.0.0", 5000))
print("up", flush=True)
there, _ = server.accept()
for _ in range(20):
    there.sendall(there.recv(1))
"""
ASK = """
import socket, sys, time
there = socket.create_connection((sys.argv[1], 5000), timeout=20)
there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
times = []
for _ in range(20):
    began = time.perf_counter()
    there.sendall(b"x")
    there.recv(1)
    times.append(time.perf_counter() - began)
print(min(times))
"""


def exchange(left: list[subprocess.Popen[str]]) -> None:
    """A byte back and forth between two hosts; then somebody presses Ctrl-C."""
    with Hosts(2, Line(5.0, 1000.0)) as hosts:
        answering = hosts.start(1, [sys.executable, "-c", ANSWER], {})
        left.append(answering)
        assert answering.stdout is not None
        assert answering.stdout.readline() == "up\n"
        asking = hosts.start(0, [sys.executable, "-c", ASK, hosts.address(1)], {})
        told, fault = asking.communicate(timeout=60)
        assert asking.returncode == 0, fault
        assert float(told) >= 0.010, "5 ms there and 5 ms back"
        raise KeyboardInterrupt


@pytest.mark.cluster
def test_a_message_takes_its_time_and_nothing_stays() -> None:
    before = namespaces()
    left: list[subprocess.Popen[str]] = []
    with pytest.raises(KeyboardInterrupt):
        exchange(left)
    assert namespaces() == before
    assert left[0].poll() is not None

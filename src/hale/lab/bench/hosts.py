"""Hosts: network namespaces of this machine with lines of a given latency and bandwidth between.

Each stands for a machine of its own: processes in it reach the others over its line alone. Lines
are veth pairs on a bridge with netem on them, all in namespaces too; where the kernel has no netem,
tun devices with a wire in user space (hale.lab.bench.wire). Nothing outside of the namespaces made
here is touched, and they are gone when the hosts are left, also after Ctrl-C or a SIGTERM.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple, NoReturn, Self

from hale.errors import HaleError, InputError
from hale.lab.bench.wire import MTU, TUN

MOST = 64


class Line(NamedTuple):
    """Of each host: one-way latency in milliseconds, and megabits a second in either direction."""

    latency_ms: float = 1.0
    megabits: float = 1000.0


class Hosts:
    """``with Hosts(4, Line(1.0, 1000)) as hosts``: four hosts, ``hosts.start(i, command)``."""

    def __init__(self, number: int, line: Line) -> None:
        if not 1 <= number <= MOST:
            raise InputError(f"There are 1 to {MOST} hosts, got {number}.")
        if line.latency_ms < 0 or line.megabits <= 0:
            raise InputError(
                "A line has a latency of at least 0 ms and a bandwidth above 0 Mbit/s."
            )
        check_tools()
        self.line = line
        stem = f"hale-{secrets.token_hex(3)}"
        self.names = [f"{stem}-{host}" for host in range(number)]
        self.switch = f"{stem}-switch"
        self.by_netem = False
        self._stack = ExitStack()

    @property
    def simulated_by(self) -> str:
        """What delays frames."""
        return "netem" if self.by_netem else "a wire in user space (this kernel has no netem)"

    def address(self, host: int) -> str:
        """The address of a host."""
        return f"10.77.0.{host + 1}"

    def __enter__(self) -> Self:
        self._stack.callback(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        signal.signal(signal.SIGTERM, _leave)
        try:
            for name in (*self.names, self.switch):
                self._stack.callback(_quietly, "ip", "netns", "del", name)
                _run("ip", "netns", "add", name)
            self.by_netem = self._netem()
            if self.by_netem:
                self._bridge()
            else:
                self._wire()
            for host, name in enumerate(self.names):
                place, device = f"{self.address(host)}/24", f"hale{host}"
                _run("ip", "-n", name, "addr", "add", place, "dev", device)
                _run("ip", "-n", name, "link", "set", device, "up")
                _run("ip", "-n", name, "link", "set", "lo", "up")
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def start(
        self, host: int, command: Sequence[str], variables: dict[str, str]
    ) -> subprocess.Popen[str]:
        """A process on a host; it is ended with the hosts."""
        started = subprocess.Popen(  # noqa: S603
            ["ip", "netns", "exec", self.names[host], *command],  # noqa: S607
            env={**os.environ, "GLOO_SOCKET_IFNAME": f"hale{host}", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._stack.callback(_end, started)
        return started

    def _netem(self) -> bool:
        """Whether the kernel has it: tried on a line that goes with the switch."""
        _run("ip", "-n", self.switch, "link", "add", "try0", "type", "veth", "peer", "name", "try1")
        tried = _quietly(
            *("ip", "netns", "exec", self.switch),
            *("tc", "qdisc", "add", "dev", "try0", "root", "netem", "delay", "1ms"),
        )
        _run("ip", "-n", self.switch, "link", "del", "try0")
        return tried

    def _bridge(self) -> None:
        """A switch with a line to each host: netem delays and slows what leaves it, both ways."""
        inside = ("ip", "-n", self.switch)
        _run(*inside, "link", "add", "bridge", "type", "bridge")
        _run(*inside, "link", "set", "bridge", "up")
        how = (
            "netem",
            "delay",
            f"{self.line.latency_ms / 2}ms",
            "rate",
            f"{self.line.megabits}mbit",
        )
        for host, name in enumerate(self.names):
            device, port = f"hale{host}", f"port{host}"
            _run(
                *inside, "link", "add", port, "type", "veth", "peer", "name", device, "netns", name
            )
            _run(*inside, "link", "set", port, "master", "bridge", "up")
            for where, end in ((self.switch, port), (name, device)):
                shape = ("tc", "qdisc", "add", "dev", end, "root", *how, "limit", "100000")
                _run("ip", "netns", "exec", where, *shape)

    def _wire(self) -> None:
        """Tun devices, whose packets a process of its own carries."""
        arguments = [str(self.line.latency_ms / 1e3), str(self.line.megabits * 1e6), *self.names]
        code = (
            "import sys; from hale.lab.bench.wire import Wire; late, rate, *names = sys.argv[1:]; "
            "wire = Wire(names, float(late), float(rate)); "
            "print('ready', flush=True); wire.carry(0)"
        )
        carrier = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._stack.callback(_end, carrier)
        assert carrier.stdout is not None
        if carrier.stdout.readline() != "ready\n":
            assert carrier.stderr is not None
            raise HaleError(f"The wire between hosts did not start: {carrier.stderr.read()[-500:]}")
        for host, name in enumerate(self.names):
            device = f"hale{host}"
            _run("ip", "-n", name, "link", "set", device, "mtu", str(MTU))


def check_tools() -> None:
    """Say what is missing to make hosts."""
    if os.geteuid() != 0:
        raise HaleError(
            "Network namespaces need root: run it as root, or in a container of your own with "
            "NET_ADMIN and SYS_ADMIN (docker run --privileged)."
        )
    for tool in ("ip", "tc"):
        if shutil.which(tool) is None:
            raise HaleError(
                f"There is no command '{tool}', which makes hosts in network namespaces. It is of "
                "iproute2: apt-get install iproute2 (Debian), dnf install iproute-tc (Fedora)."
            )
    if not os.path.exists(TUN):  # noqa: PTH110
        raise HaleError(
            f"There is no {TUN}, by which hosts are joined where the kernel has no netem "
            "(the module sch_netem; linux-modules-extra on Ubuntu has it): modprobe tun."
        )


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise HaleError(f"{' '.join(command)} failed: {done.stderr.strip()}")


def _quietly(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603


def _leave(_number: int, _frame: object) -> NoReturn:
    """A request to end, as an exception: the namespaces go first."""
    raise SystemExit(143)


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()

"""A wire between network namespaces in user space: packets that arrive late, one after the other.

For kernels without netem. Every host has a tun device in its namespace, whose other end this
process holds; a packet is handed to the host that its address names, ``latency`` after it came in,
and no sooner than the host's line of ``bandwidth`` is done with the packets before. Packets, not
frames: hosts that ask for hardware addresses, 64 of 63 others, overflow the kernel's one table.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import selectors
import struct
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

TUN, TUN_WITHOUT_HEADER, TUNSETIFF = "/dev/net/tun", 0x1001, 0x400454CA
CLONE_NEWNET = 0x40000000
FRAME = 1 << 16
PLACES = Path("/run/netns")
MTU = 9000  # of the lines: large frames, so that few have to be handed over


class Wire:
    """Lines to hosts in namespaces; ``carry`` hands frames over until it is told to end."""

    def __init__(self, namespaces: Sequence[str], latency: float, bandwidth: float) -> None:
        self.latency = latency  # seconds
        self.rate = bandwidth / 8  # bytes a second
        self.lines = [_tun(name, f"hale{number}") for number, name in enumerate(namespaces)]
        self.free = [0.0] * len(self.lines)  # when a host's line out is free again
        self.waiting: list[tuple[float, int, int, bytes]] = []
        self._order = count()

    def carry(self, ended: int) -> None:
        """Hand frames over until a file descriptor can be read."""
        with selectors.DefaultSelector() as ready:
            for number, line in enumerate(self.lines):
                ready.register(line, selectors.EVENT_READ, number)
            ready.register(ended, selectors.EVENT_READ, -1)
            while True:
                now = time.perf_counter()
                rest = self.waiting[0][0] - now if self.waiting else None
                # below a fifth of a millisecond a sleep is too coarse: look again at once
                found = ready.select(None if rest is None else max(0.0, rest - 2e-4))
                for key, _ in found:
                    if key.data < 0:
                        return
                    self.take(key.data, _frames(self.lines[key.data]), time.perf_counter())
                self.hand_over(time.perf_counter())

    def take(self, sender: int, frames: Sequence[bytes], now: float) -> None:
        """Let frames of a host set out: each when the line is free, and then ``latency`` long."""
        for frame in frames:
            begins = max(now, self.free[sender])
            self.free[sender] = begins + len(frame) / self.rate
            due = self.free[sender] + self.latency
            if frame[0] >> 4 == 4 and 1 <= frame[19] <= len(self.lines):  # else it is for nobody
                receiver = frame[19] - 1  # the last byte of 10.77.0.x
                heapq.heappush(self.waiting, (due, next(self._order), receiver, frame))

    def hand_over(self, now: float) -> None:
        """Frames that are due arrive."""
        while self.waiting and self.waiting[0][0] <= now:
            _, _, receiver, frame = heapq.heappop(self.waiting)
            try:
                os.write(self.lines[receiver], frame)
            except OSError:  # the host is gone, or takes no more: frames may be lost
                continue


def _frames(line: int) -> list[bytes]:
    """All frames that a host has sent."""
    found = []
    while True:
        try:
            found.append(os.read(line, FRAME))
        except BlockingIOError:
            return found


def enter(place: Path) -> None:
    """Let this process be in a network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    there = os.open(place, os.O_RDONLY)
    try:
        if libc.setns(there, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {place}")
    finally:
        os.close(there)


def _tun(namespace: str, name: str) -> int:
    """A tun device in a namespace, as a file descriptor that does not wait."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    enter(PLACES / namespace)
    try:
        line = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(line, TUNSETIFF, struct.pack("16sH22x", name.encode(), TUN_WITHOUT_HEADER))
        return line
    finally:
        enter(Path(f"/proc/self/fd/{home}"))
        os.close(home)

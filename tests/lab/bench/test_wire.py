"""A wire in user space: when frames arrive, by hand, without any device."""

from __future__ import annotations

import os
from itertools import count

from hale.lab.bench.wire import Wire


def wire(hosts: int, latency: float, bandwidth: float) -> tuple[Wire, list[int]]:
    """A wire whose lines are pipes, and their other ends."""
    made = object.__new__(Wire)
    made.latency, made.rate = latency, bandwidth / 8
    pipes = [os.pipe() for _ in range(hosts)]
    made.lines = [line for _, line in pipes]
    made.free, made.waiting, made._order = [0.0] * hosts, [], count()
    for end, _ in pipes:
        os.set_blocking(end, False)
    return made, [end for end, _ in pipes]


def packet(receiver: int, size: int, version: int = 4) -> bytes:
    """To the host of that number: 10.77.0.1 is the first."""
    made = bytearray(size)
    made[0], made[16:20] = version << 4, bytes((10, 77, 0, receiver + 1))
    return bytes(made)


def arrived(end: int) -> int:
    try:
        return len(os.read(end, 1 << 20))
    except BlockingIOError:
        return 0


def test_a_frame_is_late_and_waits_for_those_before() -> None:
    """1,000 bytes at 8 Mbit/s take a millisecond, and two more on the way."""
    line, ends = wire(3, latency=0.002, bandwidth=8e6)
    line.take(0, [packet(1, 1000), packet(1, 1000)], now=10.0)
    assert [round(due, 6) for due, *_ in sorted(line.waiting)] == [10.003, 10.004]
    line.hand_over(10.0029)
    assert arrived(ends[1]) == 0
    line.hand_over(10.0031)
    assert arrived(ends[1]) == 1000
    line.hand_over(11.0)
    assert arrived(ends[1]) == 1000
    assert arrived(ends[2]) == 0


def test_lines_of_hosts_do_not_wait_for_each_other() -> None:
    line, _ = wire(3, latency=0.0, bandwidth=8e6)
    line.take(0, [packet(2, 1000)], now=5.0)
    line.take(1, [packet(2, 1000)], now=5.0)
    assert [round(due, 6) for due, *_ in line.waiting] == [5.001, 5.001]


def test_what_is_for_nobody_is_lost() -> None:
    """An address beyond the hosts, and another version of the protocol."""
    line, ends = wire(3, latency=0.0, bandwidth=8e9)
    line.take(0, [packet(3, 60), packet(1, 60, version=6), packet(2, 70)], now=0.0)
    line.hand_over(1.0)
    assert [arrived(end) for end in ends] == [0, 0, 70]

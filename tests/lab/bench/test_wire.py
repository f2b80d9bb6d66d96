"""A wire in user space: when frames arrive, by hand, without any device."""

from __future__ import annotations

import os
from itertools import count

from hale.lab.bench.wire import Wire, address


def wire(hosts: int, latency: float, bandwidth: float) -> tuple[Wire, list[int]]:
    """A wire whose lines are pipes, and their other ends."""
    made = object.__new__(Wire)
    made.latency, made.rate = latency, bandwidth / 8
    pipes = [os.pipe() for _ in range(hosts)]
    made.lines = [line for _, line in pipes]
    made.by_address = {bytes.fromhex(address(host).replace(":", "")): host for host in range(hosts)}
    made.free, made.waiting, made._order = [0.0] * hosts, [], count()
    for end, _ in pipes:
        os.set_blocking(end, False)
    return made, [end for end, _ in pipes]


def frame(receiver: str, size: int) -> bytes:
    return bytes.fromhex(receiver.replace(":", "")).ljust(size, b"x")


def arrived(end: int) -> int:
    try:
        return len(os.read(end, 1 << 20))
    except BlockingIOError:
        return 0


def test_a_frame_is_late_and_waits_for_those_before() -> None:
    """1,000 bytes at 8 Mbit/s take a millisecond, and two more on the way."""
    line, ends = wire(3, latency=0.002, bandwidth=8e6)
    line.take(0, [frame(address(1), 1000), frame(address(1), 1000)], now=10.0)
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
    line.take(0, [frame(address(2), 1000)], now=5.0)
    line.take(1, [frame(address(2), 1000)], now=5.0)
    assert [round(due, 6) for due, *_ in line.waiting] == [5.001, 5.001]


def test_a_question_to_all_goes_to_all_others() -> None:
    line, ends = wire(4, latency=0.0, bandwidth=8e9)
    line.take(2, [frame("ff:ff:ff:ff:ff:ff", 60)], now=0.0)
    line.hand_over(1.0)
    assert [arrived(end) for end in ends] == [60, 60, 0, 60]


def test_who_is_asked_for_its_address_alone_is_asked() -> None:
    """The last byte of the address that is asked for tells the host: 10.77.0.4 is the fourth."""
    line, ends = wire(4, latency=0.0, bandwidth=8e9)
    question = bytearray(frame("ff:ff:ff:ff:ff:ff", 60))
    question[12:14], question[41] = b"\x08\x06", 4
    line.take(0, [bytes(question)], now=0.0)
    line.hand_over(1.0)
    assert [arrived(end) for end in ends] == [0, 0, 0, 60]

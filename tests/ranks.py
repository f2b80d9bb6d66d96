"""Processes that stand ready to be the ranks of a group, for tests."""

from __future__ import annotations

import multiprocessing
import os
import socket
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import torch

from hale.engine.group import Group

SECONDS = 120.0  # a test that takes longer hangs


class Ranks:
    """Up to ``most`` processes; ``ranks(2, work, ...)`` lets two of them be a group.

    ``work(group, ...)`` is a function at the top of a module of tests. What the ranks return comes
    back as a list, and what any of them raises is raised.
    """

    def __init__(self, most: int = 4) -> None:
        context = multiprocessing.get_context("spawn")
        self.ends: list[Connection] = []
        self.processes = []
        for _ in range(most):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there,), daemon=True)
            process.start()
            self.ends.append(here)
            self.processes.append(process)

    def __call__(
        self, size: int, work: Callable[..., Any], *values: Any, timeout: float = 30.0
    ) -> list[Any]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        for rank, end in enumerate(self.ends[:size]):
            end.send((rank, size, port, timeout, work, values))
        answers = []
        for end in self.ends[:size]:
            if not end.poll(SECONDS):
                raise TimeoutError("a rank does not answer")
            answers.append(end.recv())
        faults = [text for text, _ in answers if text]
        assert not faults, faults[0]
        return [value for _, value in answers]

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()


def _serve(end: Connection) -> None:
    torch.set_num_threads(1)
    while True:
        try:
            rank, size, port, timeout, work, values = end.recv()
        except EOFError:
            return
        place = {"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in place.items()})
        group = None
        try:
            group = Group.join(timeout)
            end.send((None, work(group, *values)))
        except BaseException:  # told to the test, whatever it is
            end.send((traceback.format_exc(), None))
        finally:
            if group is not None:
                group.leave()

"""Gathering: queries that arrive while others are computed, answered together in one pass.

A pass over all entities costs little more for many queries than for one, so what waits for a pass
to end shares the next one. Who has just been answered asks again within a moment, and whoever came
first would begin a pass alone, for whose end all the others wait: so the next pass begins when as
many are there as the last one had, or a small share of its time has gone by. A query that finds
nobody computing begins at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby

import torch

from hale.errors import HaleError
from hale.serve.asking import Bounds, busy, late, tell
from hale.serve.service import Asked, Json, Service

# Of one pass: so that the first of them does not wait for too many others.
MOST_TOGETHER = 64
# Of a pass's time, for which those that it answered are waited for: enough for programs on the same
# machine to ask again, and what a query that comes alone after many may lose.
PAUSE = 0.1


@dataclass(eq=False)
class Waiting:
    """A query, and who waits for its answers."""

    query: Asked
    k: int
    known: str
    told: asyncio.Future[Json | None]


class Gatherer:
    """Answers queries in one thread, those that wait for it together."""

    def __init__(self, service: Service, bounds: Bounds) -> None:
        self.service, self.bounds = service, bounds
        self._thread = ThreadPoolExecutor(
            1, thread_name_prefix="hale-predict", initializer=_leave_a_core
        )
        self._waiting: list[Waiting] = []
        self._computing = False
        self._expected = 0  # how many the next pass waits for, while ``_pause`` lasts
        self._pause: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Take no more queries."""
        if self._pause is not None:
            self._pause.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def ask(self, query: Asked, k: int, known: str) -> Json | None:
        """As ``Service.predict``; None where that must be asked, since it has something to refuse.

        Errors take long to word (the nearest of all names), so they are not made here.
        """
        if len(self._waiting) >= self.bounds.waiting:
            raise busy(len(self._waiting))
        one = Waiting(query, k, known, asyncio.get_running_loop().create_future())
        self._waiting.append(one)
        paused = self._pause is not None and len(self._waiting) < self._expected
        if not self._computing and not paused:
            self._begin()
        try:
            async with asyncio.timeout(self.bounds.seconds):
                return await one.told
        except TimeoutError:
            raise late(self.bounds.seconds) from None

    def _begin(self) -> None:
        """Compute what waits."""
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        self._waiting = [one for one in self._waiting if not one.told.done()]  # who has hung up
        batch, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
        self._computing = bool(batch)
        if batch:
            loop, began = asyncio.get_running_loop(), time.monotonic()
            work = self._thread.submit(answers_together, self.service, batch)
            work.add_done_callback(lambda done: tell(loop, self._end, batch, done, began))

    def _end(self, batch: list[Waiting], work: Future[list[Json | None]], began: float) -> None:
        """Tell who waits, and go on with who came meanwhile and who comes again."""
        error = work.exception()
        found = [None] * len(batch) if error is not None else work.result()
        for one, answers in zip(batch, found, strict=True):
            if one.told.done():
                continue
            if error is not None and not isinstance(error, HaleError):
                one.told.set_exception(error)
            else:
                one.told.set_result(answers)
        self._computing, self._expected = False, min(len(batch), MOST_TOGETHER)
        if len(self._waiting) >= self._expected:
            self._begin()
        else:
            took = time.monotonic() - began
            self._pause = asyncio.get_running_loop().call_later(PAUSE * took, self._begin)


def _leave_a_core() -> None:
    """Who reads requests and writes answers has a core; where there are two, a pass has one.

    With both, threads that wait for each other hold up whoever else wants to run: on the demo
    (benchmarks/serve.py) a p99 of 22 ms, of 14 ms with one.
    """
    torch.set_num_threads(max(1, torch.get_num_threads() - 1))


def answers_together(service: Service, batch: Sequence[Waiting]) -> list[Json | None]:
    """The answers to each query, None to those that would be refused; see ``Gatherer.ask``.

    Together go those that treat known facts alike and ask for as many answers: of equal scores,
    which ones come first may depend on how many are asked for.
    """

    def kind(place: int) -> tuple[str, int]:
        one = batch[place]
        return one.known, one.k

    found: list[Json | None] = [None] * len(batch)
    good = [
        place
        for place, one in enumerate(batch)
        if service.can_answer(one.query, k=one.k, known=one.known)
    ]
    for (known, k), places in groupby(sorted(good, key=kind), key=kind):
        group = list(places)
        told = service.predict_many([batch[place].query for place in group], k=k, known=known)
        for place, answers in zip(group, told["queries"], strict=True):
            found[place] = {"run": told["run"], **answers}
    return found

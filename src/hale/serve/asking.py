"""Limits: questions computed in threads, so many at once, so long, given up when nobody waits."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hale.serve.problems import Problem

if TYPE_CHECKING:  # it imports PyTorch, for which the map does not wait
    from hale.serve.service import Check

T = TypeVar("T")


@dataclass(frozen=True)
class Bounds:
    """What one server takes on.

    A question computes on one core, so there is no use in more at once than there are cores.
    Those that may take long have a thread of their own and never hold up the others.
    """

    body: int = 1 << 20  # bytes of a request
    seconds: float = 60.0  # of a question, from when it is asked
    at_once: int = 2  # questions that compute
    slow_at_once: int = 1  # questions that may take long, beside them
    waiting: int = 128  # questions that wait for a thread, of either kind


class GivenUp(Exception):  # noqa: N818
    """Raised inside a question that nobody waits for any more."""


async def _never() -> None:
    """Who waits and cannot be seen to leave."""
    await asyncio.Event().wait()


class Limits:
    """The threads in which questions are computed, and who waits for them."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._quick = _Lane("quick", bounds.at_once, bounds.waiting)
        self._slow = _Lane("slow", bounds.slow_at_once, bounds.waiting)

    def close(self) -> None:
        """Take no more questions; those that wait are dropped."""
        for lane in (self._quick, self._slow):
            lane.threads.shutdown(wait=False, cancel_futures=True)

    def held(self) -> int:
        """How many questions compute or wait."""
        return self._quick.held + self._slow.held

    async def ask(
        self,
        function: Callable[[Check], T],
        *,
        slow: bool = False,
        gone: Callable[[], Coroutine[Any, Any, None]] = _never,
    ) -> T:
        """What ``function`` returns, computed in a thread; it is handed a check to call.

        The check raises once the client is ``gone`` (which returns then), or whoever waits here
        is cancelled, or the time is up, so what calls it between its parts ends then. A question
        that is not answered in time is a 503.
        """
        lane = self._slow if slow else self._quick
        over = threading.Event()
        deadline = time.monotonic() + self.bounds.seconds

        def check() -> None:
            if over.is_set() or time.monotonic() > deadline:
                raise GivenUp

        work = lane.submit(check, function)
        watch = asyncio.ensure_future(gone())
        try:
            both: set[asyncio.Future[Any]] = {watch, work}
            done, _ = await asyncio.wait(
                both, timeout=self.bounds.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if work in done:
                return work.result()
        except GivenUp:
            pass
        finally:
            over.set()
            watch.cancel()
            work.cancel()
        raise late(self.bounds.seconds)


def late(seconds: float) -> Problem:
    """What is said of a question that took too long."""
    return Problem(
        503,
        f"This took longer than {seconds:g} s and was given up. Ask for less, or use the command "
        "line, which has no limit.",
        {"Retry-After": "1"},
    )


def busy(waiting: int) -> Problem:
    """What is said to who comes when too many wait."""
    detail = f"{waiting} questions are waiting already. Ask again shortly."
    return Problem(503, detail, {"Retry-After": "1"})


class Bodies:
    """ASGI middleware: a request's body has a bounded size and arrives in bounded time."""

    def __init__(self, app: ASGIApp, *, bounds: Bounds) -> None:
        self.app, self.bounds = app, bounds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what is announced too large, and what turns out to be."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdecimal() or int(announced) > self.bounds.body:
            await self._too_large().response()(scope, receive, send)
            return
        size, complete = 0, False

        async def bounded() -> Message:
            nonlocal size, complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout(self.bounds.seconds):
                    message = await receive()
            except TimeoutError:
                raise Problem(408, "The body of the request did not arrive.") from None
            size += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if size > self.bounds.body:
                raise self._too_large()
            return message

        await self.app(scope, bounded, send)

    def _too_large(self) -> Problem:
        return Problem(
            413, f"A request has at most {self.bounds.body:,} bytes. Ask in several parts."
        )


class _Lane:
    """Some threads, and a bounded queue before them."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix=f"hale-{name}")
        self.most, self.held = threads + waiting, 0

    def submit(self, check: Check, function: Callable[[Check], T]) -> asyncio.Future[T]:
        """Begin as soon as a thread is free; refuse at once where too many wait."""
        if self.held >= self.most:
            raise busy(self.held)
        self.held += 1

        def compute() -> T:
            check()
            _on_one_core()
            return function(check)

        loop = asyncio.get_running_loop()
        inner = self.threads.submit(compute)
        inner.add_done_callback(lambda _: tell(loop, self._leave))
        return asyncio.wrap_future(inner)

    def _leave(self) -> None:
        self.held -= 1


def tell(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: Any) -> None:
    """Call from a thread what belongs to a loop; one that has ended has nobody to tell."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *args)


def _on_one_core() -> None:
    """Questions run beside each other; the parts of one do not.

    Said before each question: what is asked before a run is loaded needs no PyTorch and does not
    wait for it, and a module that another thread is importing has no such function yet.
    """
    torch = sys.modules.get("torch")
    if set_num_threads := getattr(torch, "set_num_threads", None):
        set_num_threads(1)


async def _gone(request: Request) -> None:
    """Return when the client has hung up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def ask(request: Request, function: Callable[[Check], T], *, slow: bool = False) -> T:
    """Ask in a thread of the application that ``request`` came to; see ``Limits.ask``.

    Read the body first: from here on the request is only watched for its end.
    """
    limits: Limits = request.app.state.limits
    return await limits.ask(function, slow=slow, gone=lambda: _gone(request))

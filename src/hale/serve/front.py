"""Front: the map at once, and everything else as soon as the run is loaded."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from hale.errors import HaleError
from hale.serve.access import Access
from hale.serve.asking import Bodies, Bounds, GivenUp, Limits
from hale.serve.pages import early_routes, late_routes
from hale.serve.pages.explorer import Explorer
from hale.serve.problems import Problem, answer_problem

if TYPE_CHECKING:
    from hale.serve.service import Service

# Loading waits until the browser has the first points, but no longer than this.
PATIENCE = 3.0


class Front:
    """An application that serves a run's map before the run is loaded, and then all of it.

    Importing PyTorch keeps a process busy for a second or more, in which it answers nobody:
    loading begins when the first page has what it shows. The map has threads of its own, with
    the bounds of all the rest; a selection of all entities is the largest body.
    """

    def __init__(
        self,
        explorer: Explorer,
        load: Callable[[], Service],
        *,
        token: str,
        host: str,
        bounds: Bounds | None = None,
    ) -> None:
        self.explorer, self._load = explorer, load
        self._token, self._host, self._bounds = token, host, bounds or Bounds()
        selection = 4 * len(explorer.graph.entities)
        largest = replace(self._bounds, body=max(self._bounds.body, selection))
        self._inner: Future[Starlette] = Future()
        self._seen, self._over = threading.Event(), threading.Event()
        self.failure: Exception | None = None
        self.app = Starlette(
            routes=[*early_routes(explorer), Mount("/", app=self._later)],
            middleware=[
                Middleware(Access, token=token, host=host),
                Middleware(Bodies, bounds=largest),
            ],
            exception_handlers={
                Problem: answer_problem,
                HaleError: answer_problem,
                HTTPException: answer_problem,
            },
            lifespan=self._lifespan,
        )
        self.app.state.limits = self._limits = Limits(self._bounds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; who asks for more than the map waits for the run."""
        await self.app(scope, receive, send)
        if scope["type"] == "http" and scope["path"] == "/map/colours":
            self._seen.set()

    async def _later(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._seen.set()
        # who is cancelled here leaves the run to the others that wait for it
        inner = await asyncio.shield(asyncio.wrap_future(self._inner))
        scope["root_path"] = ""
        await inner(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        # No daemon: a thread that is cut off inside PyTorch takes the whole process down with it.
        threading.Thread(target=self._prepare, name="hale-load").start()
        yield
        self._over.set()
        self._seen.set()
        self._limits.close()
        self.explorer.close()
        if self._inner.done() and self._inner.exception() is None:
            inner = self._inner.result()
            async with inner.router.lifespan_context(inner):  # begun and ended: what it ends counts
                pass

    def _prepare(self) -> None:
        """Load the run; where that fails, end the server, and whoever started it says why."""
        self._seen.wait(PATIENCE)
        try:
            self._go_on()
            from hale.serve.app import create_app

            self._go_on()
            service = self._load().prepared()
            self.explorer.take_service(service)
            inner = create_app(
                service,
                token=self._token,
                host=self._host,
                pages=late_routes(self.explorer),
                bounds=self._bounds,
            )
        except Exception as error:
            self._inner.set_exception(error)
            if not self._over.is_set():
                self.failure = error
                signal.raise_signal(signal.SIGINT)
            return
        self._inner.set_result(inner)
        if not self._over.is_set():
            self.explorer.atlas.improve()

    def _go_on(self) -> None:
        """Raise where the server has ended: nobody waits for the run."""
        if self._over.is_set():
            raise GivenUp

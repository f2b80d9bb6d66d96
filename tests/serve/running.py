"""A real server on this machine, in a thread of the test."""

from __future__ import annotations

import threading
import time
from types import TracebackType

import uvicorn
from starlette.types import ASGIApp

from hale.serve.listening import Listener, server_for


class Running:
    """Serves an application for a while; entering tells host and port."""

    def __init__(self, app: ASGIApp) -> None:
        self.listener = Listener("127.0.0.1", 0)
        self.server: uvicorn.Server = server_for(app)
        self.thread = threading.Thread(
            target=self.server.run, kwargs={"sockets": [self.listener.socket]}
        )

    def __enter__(self) -> tuple[str, int]:
        self.thread.start()
        deadline = time.monotonic() + 10
        while not self.server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self.server.started
        return "127.0.0.1", self.listener.port

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.should_exit = True
        self.server.force_exit = True
        self.thread.join(10)
        assert not self.thread.is_alive()
        self.listener.socket.close()

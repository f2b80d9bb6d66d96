"""Listening: an address taken before a run is loaded, and uvicorn behind it."""

from __future__ import annotations

import socket
from types import TracebackType

import uvicorn
from starlette.types import ASGIApp

from hale.errors import InputError

BACKLOG = 2048


class Listener:
    """A socket that listens at host and port, 0 for a free one; an error tells if it cannot."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host.removeprefix("[").removesuffix("]")
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.socket.bind((self.host, port))
            self.socket.listen(BACKLOG)  # who comes while the run is loaded waits
        except (OSError, ValueError, TypeError) as error:  # the latter two of no name at all
            self.socket.close()
            said = getattr(error, "strerror", None) or error
            raise InputError(
                f"Cannot listen at {host}, port {port}: {said}. Choose another --port "
                "(0 takes a free one) or --host."
            ) from None
        self.port: int = self.socket.getsockname()[1]

    @property
    def address(self) -> str:
        """Where a browser or program on this machine finds it."""
        named = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{named}:{self.port}"

    def run(self, app: ASGIApp) -> None:
        """Serve until interrupted, or until the application ends it; then raise KeyboardInterrupt.

        The server hands an interrupt on once it has ended, but a loop that closes just then may
        swallow it.
        """
        server_for(app).run(sockets=[self.socket])
        raise KeyboardInterrupt

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()


def server_for(app: ASGIApp) -> uvicorn.Server:
    """What serves an application; it logs no requests, since an address may hold the token."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=3,
        )
    )

"""hale explore."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import typer

from hale.cli.app import err, out, reporting
from hale.cli.options import Device, RunPath
from hale.cli.serve import Host, Token

if TYPE_CHECKING:
    from hale.serve.service import Service


@reporting
def explore(
    run: RunPath,
    port: Annotated[
        int, typer.Option("--port", help="Port; 0 takes a free one.", min=0, max=65535)
    ] = 0,
    host: Host = "127.0.0.1",
    token: Token = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser.")
    ] = True,
    device: Device = "auto",
) -> None:
    """Open a run in the browser: map, entities, questions, a review of missing facts.

    Everything stays on this machine: nothing is fetched from elsewhere, and only who has the
    printed address can look.
    """
    from hale.errors import MissingExtraError

    try:
        from hale.serve.access import choose_token
        from hale.serve.front import Front
        from hale.serve.listening import Listener
        from hale.serve.map.first_sight import first_sight
        from hale.serve.opening import open_browser
        from hale.serve.pages.explorer import Explorer
        from hale.serve.pages.rendering import check_bundle
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn", "jinja2"):
            raise
        raise MissingExtraError("hale explore", "serve") from None

    chosen = choose_token(host, token)
    check_bundle()
    try:
        seen = first_sight(run)
    except Exception:
        from hale.runs.run import load_run

        load_run(run, device=device)  # says what is wrong with the run
        raise

    def load() -> Service:
        from hale.runs.run import load_run
        from hale.serve.service import Service

        return Service(load_run(run, device=device))

    with Listener(host, port) as listener, ExitStack() as at_end:
        front = Front(Explorer(run, seen), load, token=chosen, host=host)
        address = f"{listener.address}/?{urlencode({'token': chosen})}"
        out.print(address)
        err.print("Ctrl-C ends it")
        if browser:
            at_end.enter_context(open_browser(address, beside=run))
        try:
            listener.run(front)
        except KeyboardInterrupt:
            if front.failure is None:
                raise
        if front.failure is not None:
            raise front.failure

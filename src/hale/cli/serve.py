"""hale serve."""

from __future__ import annotations

from typing import Annotated

import typer

from hale.cli.app import err, out, reporting
from hale.cli.options import Device, RunPath
from hale.errors import MissingExtraError

Host = Annotated[
    str,
    typer.Option(
        "--host", help="Address to listen at; one that others reach needs a token of yours."
    ),
]
Port = Annotated[int, typer.Option("--port", help="Port; 0 takes a free one.", min=0, max=65535)]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        help="Who has it may ask. Other users of this machine see it here in the list of "
        "processes, and not in HALE_TOKEN in the environment. [default: HALE_TOKEN, or a random "
        "one]",
    ),
]


@reporting
def serve(
    run: RunPath,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    token: Token = None,
    device: Device = "auto",
) -> None:
    """Answer programs over HTTP: REST below /api/v1, described by /api/v1/openapi.json."""
    try:
        from hale.serve.access import choose_token
        from hale.serve.app import create_app
        from hale.serve.listening import Listener
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise MissingExtraError("hale serve", "serve") from None
    from hale.runs.run import load_run
    from hale.serve.service import Service

    chosen = choose_token(host, token)
    with Listener(host, port) as listener:
        service = Service(load_run(run, device=device)).prepared()
        out.print(f"{listener.address}/api/v1/run")
        out.print(f"Authorization: Bearer {chosen}")
        err.print("Ctrl-C ends it")
        listener.run(create_app(service, token=chosen, host=host))

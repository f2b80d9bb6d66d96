"""hale mcp."""

from __future__ import annotations

from typing import Annotated

import typer

from hale.cli.app import err, out, reporting
from hale.cli.options import Device, RunPath
from hale.errors import InputError, MissingExtraError


@reporting
def mcp(
    run: RunPath,
    http: Annotated[
        bool, typer.Option("--http", help="Streamable HTTP at /mcp, not standard input and output.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            help="With --http: port; 0 takes a free one. [default: 8000]",
            min=0,
            max=65535,
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            "--host",
            help="With --http: address to listen at; one that others reach needs a token of "
            "yours. "
            "[default: 127.0.0.1]",
            show_default=False,
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            help="With --http: who has it may ask; see hale serve. [default: HALE_TOKEN, or a "
            "random one]",
        ),
    ] = None,
    device: Device = "auto",
) -> None:
    """Answer agents by the Model Context Protocol: search, facts, predict, why, similar."""
    if not http and (port is not None or host is not None or token is not None):
        raise InputError("--port, --host and --token go with --http.")
    try:
        from hale.serve.access import LOOPBACK, choose_token
        from hale.serve.agents import PATH, agent_app, agent_server
        from hale.serve.listening import Listener
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("mcp", "starlette", "uvicorn"):
            raise
        raise MissingExtraError("hale mcp", "mcp") from None
    from hale.runs.run import load_run
    from hale.serve.service import Service

    if not http:
        service = Service(load_run(run, device=device)).prepared()
        agent_server(service).run("stdio")  # standard output is the protocol's
        return
    host = host or LOOPBACK
    chosen = choose_token(host, token)
    with Listener(host, 8000 if port is None else port) as listener:
        service = Service(load_run(run, device=device)).prepared()
        out.print(f"{listener.address}{PATH}")
        out.print(f"Authorization: Bearer {chosen}")
        err.print("Ctrl-C ends it")
        listener.run(agent_app(service, token=chosen, host=host))

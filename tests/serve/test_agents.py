"""The protocol's own client, by standard input and output and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from hale.evaluation.calibration import ByQuestions
from hale.serve.agents import agent_app, agent_server
from hale.serve.asking import Bounds
from hale.serve.service import Service
from tests.serve.conftest import BEARER, SCRIPT, TOKEN
from tests.serve.running import Running

TOOLS = {"search_entities", "facts_of", "predict", "why", "similar"}


async def ask_everything(client: Client, service: Service) -> None:
    """Every tool and resource says what the service says."""
    assert ByQuestions.meaning in (client.instructions or "")
    tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS
    assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools)

    async def told(tool: str, **arguments: Any) -> Any:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result
        return result.structured_content

    assert await told("search_entities", text="p", k=3) == service.search("p", k=3)
    assert await told("facts_of", entity=SCRIPT) == service.entity(SCRIPT)
    assert await told("predict", head="p8", relation="next", k=2) == service.predict(
        head="p8", relation="next", k=2
    )
    assert await told("why", head="p8", relation="next", tail="p9") == service.why(
        "p8", "next", "p9"
    )
    assert await told("similar", entity="one", k=2) == service.neighbors("one", k=2)
    listed = (await client.list_resources()).resources
    assert {str(resource.uri) for resource in listed} == {"hale://run", "hale://relations"}
    for uri, expected in (
        ("hale://run", service.run_info()),
        ("hale://relations", service.relations()),
    ):
        (content,) = (await client.read_resource(uri)).contents
        assert json.loads(content.text) == expected
    refused = await client.call_tool("facts_of", {"entity": "p11"})
    assert refused.is_error
    assert "Unknown entity 'p11'. Did you mean 'p1'" in refused.content[0].text
    many = await client.call_tool("similar", {"entity": "p1", "k": 1001})
    assert many.is_error
    assert "At most 1,000 neighbours" in many.content[0].text


def test_by_standard_input_and_output(folder: Path, service: Service) -> None:
    """The command itself, in a process of its own; nothing but the protocol is on its stdout."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hale", "mcp", str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    async def session() -> set[str]:
        async with Client(command) as client:
            await ask_everything(client, service)
            return {tool.name for tool in (await client.list_tools()).tools}

    named = {"search_entities", "facts_of", "predict", "why", "similar"}
    assert asyncio.run(session()) == named


def test_over_http(service: Service) -> None:
    with Running(agent_app(service, token=TOKEN)) as (host, port):
        address = f"http://{host}:{port}/mcp"

        async def session() -> None:
            async with (
                httpx2.AsyncClient(headers=BEARER) as http,
                Client(streamable_http_client(address, http_client=http)) as client,
            ):
                await ask_everything(client, service)

        asyncio.run(session())
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        for headers, status in (
            ({}, 401),
            ({**BEARER, "Origin": "http://evil.example"}, 403),
            ({**BEARER, "Host": "evil.example"}, 421),
        ):
            assert httpx2.post(address, json=message, headers=headers).status_code == status
        large = httpx2.post(address, content=b" " * ((1 << 20) + 1), headers=BEARER)
        assert large.status_code == 413


class Endless:
    """A question that goes on until it is let go."""

    def __init__(self) -> None:
        self.asked, self.go = 0, threading.Event()

    def __call__(self, *_args: Any, **_options: Any) -> dict[str, Any]:
        self.asked += 1
        self.go.wait(60)
        return {"entities": []}


def test_an_agent_has_the_bounds_of_rest(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """One computes, one waits, a third is refused at once; and no question is endless."""
    endless = Endless()
    monkeypatch.setattr(service, "search", endless)
    bounds = Bounds(at_once=1, waiting=1, seconds=0.5)

    async def session() -> None:
        async with Client(agent_server(service, bounds)) as client:
            asked = [
                asyncio.ensure_future(client.call_tool("search_entities", {"text": "p"}))
                for _ in range(2)
            ]
            await asyncio.sleep(0.2)
            third = await client.call_tool("search_entities", {"text": "p"})
            assert third.is_error
            assert "2 questions are waiting already" in third.content[0].text
            for late in await asyncio.gather(*asked):
                assert late.is_error
                assert "took longer than 0.5 s" in late.content[0].text
            endless.go.set()
            assert endless.asked == 1  # the one that waited in vain was never begun
            while True:  # and there is room again
                again = await client.call_tool("search_entities", {"text": "p"})
                if not again.is_error:
                    break
            listed = await client.list_tools()
            for tool in listed.tools:
                count = tool.input_schema["properties"]["k"]
                assert (count["minimum"], count["maximum"]) == (1, 1000)
            long = await client.call_tool("facts_of", {"entity": "p" * 2001})
            assert long.is_error
            assert "at most 2000 characters" in long.content[0].text

    try:
        asyncio.run(session())
    finally:
        endless.go.set()


def test_resources_are_asked_like_tools(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = Endless()
    monkeypatch.setattr(service, "relations", endless)

    async def session() -> None:
        async with Client(agent_server(service, Bounds(seconds=0.1))) as client:
            with pytest.raises(MCPError):
                await client.read_resource("hale://relations")

    try:
        asyncio.run(session())
    finally:
        endless.go.set()


def test_questions_are_asked_in_threads(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that fails inside tells nothing of it, and one that is refused tells why."""
    monkeypatch.setattr(service, "search", lambda *_a, **_k: 1 / 0)

    async def session() -> None:
        async with Client(agent_server(service)) as client:
            failed = await client.call_tool("search_entities", {"text": "p"})
            assert failed.is_error
            assert "ZeroDivision" not in failed.content[0].text
            assert "division" not in failed.content[0].text

    asyncio.run(session())

"""The guides to servers, as they stand: what a page starts is started, and asked what it asks.

Two things are changed: the port is a free one, and the run is trained for an epoch.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp import Client, StdioServerParameters

from hale.serve.pages.rendering import STATIC
from hale.serve.review import Review
from tests.cli.invoke import hale as call
from tests.docs.test_guides import DOCS, blocks, commands

TOKEN = "a token for the guides"
BUILT = (STATIC / "explore.js").is_file()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the pages' runs/demo lies."""
    folder = tmp_path_factory.mktemp("demo")
    out = folder / "runs/demo"
    done = call("train", "wordnet", "--dim", 8, "--epochs", 1, "--threads", 1, "--out", out)
    assert done.exit_code == 0, done.output
    return folder


@contextmanager
def started(words: list[str], folder: Path) -> Iterator[list[str]]:
    """Yields the two lines that a server prints first; at the end Ctrl-C ends it."""
    environment = {
        **os.environ,
        "HALE_TOKEN": TOKEN,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "hale", *words],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            yield [server.stdout.readline().strip() for _ in range(2 if words[0] == "serve" else 1)]
            server.send_signal(signal.SIGINT)
            assert server.wait(30) == 130
        finally:
            server.kill()


def asked(words: list[str], address: str) -> Any:
    """What curl would print: the options -H and -d, and an address, here that of the server."""
    assert words[0] == "curl"
    options: dict[str, list[str]] = {"-H": [], "-d": [], "": []}
    rest = iter(words[1:])
    for word in rest:
        options[word if word in options else ""].append(next(rest) if word in options else word)
    (url,) = options[""]
    place = urlsplit(url)
    query = f"?{place.query}" if place.query else ""
    headers = dict(header.split(": ", 1) for header in options["-H"])
    body = options["-d"][0].encode() if options["-d"] else None
    here = f"{address.partition('/api')[0]}{place.path}{query}"
    with urllib.request.urlopen(urllib.request.Request(here, body, headers), timeout=60) as told:
        return json.load(told)


def test_a_run_is_served_and_asked(demo: Path) -> None:
    shell = [block.text for block in blocks(page("serve")) if block.language == ""]
    (start,) = (text for text in shell if "hale serve" in text)
    export, command, *shown = start.strip().split("\n")
    assert shlex.split(export)[1:] == ["export", "HALE_TOKEN=$TOKEN"]
    words = shlex.split(command)[2:]
    assert words == ["serve", "runs/demo", "--port", "8000"]
    with started([*words[:-1], "0"], demo) as printed:
        free = re.sub(r":\d+/", ":8000/", printed[0])
        assert [free, printed[1].replace(TOKEN, "...")] == shown
        (curls,) = (text for text in shell if "curl" in text)
        questions = re.sub(r"\\\n\s*", " ", curls).replace("$TOKEN", TOKEN).strip().split("\n")
        one, many = (asked(shlex.split(question), printed[0]) for question in questions)
    assert len(one["answers"]) == 3, one
    assert [found["head"] for found in many["queries"]] == ["dog.n.01"]


def test_an_agent_starts_what_the_page_says(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo)
    (file,) = (block.text for block in blocks(page("serve")) if block.language == "json")
    server = json.loads(file)["mcpServers"]["graph"]
    assert server["command"] == "hale"
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hale", *server["args"]],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    async def session() -> set[str]:
        async with Client(command) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            return tools | {str(one.uri) for one in (await client.list_resources()).resources}

    named = re.search(r"the tools (.*?) and the resources (.*?)\.", page("serve"), re.S)
    assert named is not None
    assert asyncio.run(session()) == {*re.findall(r"`([^`]+)`", " ".join(named.groups()))}


@pytest.mark.filterwarnings("ignore:.*taken for a header")
@pytest.mark.skipif(not BUILT, reason="the pages are built where there is Node.js")
def test_a_review_is_exported_and_used(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo)
    explore, update, calibrate = commands(
        "\n".join(block.text for block in blocks(page("explore")) if block.language == "")
    )
    review = Review(demo / explore[1])
    review.decide(("dog.n.01", "hypernym", "pet.n.01"), "accept", who="ada")
    review.decide(("dog.n.01", "hypernym", "rock.n.01"), "reject", who="ada")
    with started([*explore, "--no-browser", "--port", "0"], demo) as printed:
        address = printed[0].partition("/?")[0].rstrip("/")
        for name in ("accepted.tsv", "rejected.tsv"):
            headers = {"Authorization": f"Bearer {TOKEN}"}
            asking = urllib.request.Request(f"{address}/review/{name}", headers=headers)
            with urllib.request.urlopen(asking, timeout=60) as told:
                (demo / name).write_bytes(told.read())
    for words in ([*update, "--epochs", 1], calibrate):
        done = call(*words)
        assert done.exit_code == 0, done.output


def page(name: str) -> str:
    """The text of a guide."""
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")

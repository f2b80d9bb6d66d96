"""Questions in threads: slow ones hold up nobody, end when nobody waits, and are not endless."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from hale.runs.run import Run
from hale.serve.app import create_app
from hale.serve.asking import Bodies, Bounds, GivenUp, Limits, ask
from hale.serve.problems import Problem
from hale.serve.service import Check
from tests.serve.conftest import BEARER, HERE, TOKEN
from tests.serve.running import Running


class Question:
    """A question that goes on until it is let go, and notes how it ended."""

    def __init__(self) -> None:
        self.begun, self.go, self.over = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, check: Check) -> str:
        self.begun.set()
        try:
            while not self.go.wait(0.01):
                check()
        except GivenUp:
            self.over.set()
            raise
        return "told"


def serving(run: Run, question: Callable[[Check], str], *, slow: bool, **bounds: Any) -> Starlette:
    """An application with that question at /ask beside REST."""

    async def asked(request: Request) -> PlainTextResponse:
        return PlainTextResponse(await ask(request, question, slow=slow))

    return create_app(run, token=TOKEN, pages=[Route("/ask", asked)], bounds=Bounds(**bounds))


@pytest.fixture
def question() -> Iterator[Question]:
    made = Question()
    yield made
    made.go.set()


def request(address: tuple[str, int], path: str) -> socket.socket:
    """A connection that has asked, and waits."""
    connection = socket.create_connection(address, timeout=20)
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    connection.sendall(head.encode())
    return connection


def test_who_hangs_up_ends_the_question(run: Run, question: Question) -> None:
    with Running(serving(run, question, slow=True)) as address:
        connection = request(address, "/ask")
        assert question.begun.wait(10)
        assert not question.over.is_set()
        connection.close()
        assert question.over.wait(10)


def test_a_slow_question_holds_up_nobody(run: Run, question: Question) -> None:
    with Running(serving(run, question, slow=True)) as address:
        waiting = [request(address, "/ask") for _ in range(3)]  # one computes, two wait
        assert question.begun.wait(10)
        for path in ("/api/v1/run", "/api/v1/predict?head=p1&relation=next", "/api/v1/search?q=p"):
            with request(address, path) as other:
                assert other.recv(100).startswith(b"HTTP/1.1 200")
        question.go.set()
        for one in waiting:
            assert one.recv(100).startswith(b"HTTP/1.1 200")
            one.close()


def test_discovery_ends_when_nobody_waits(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check reaches the work itself, through the progress that discover tells."""
    app = create_app(run, token=TOKEN)
    begun, ended = threading.Event(), threading.Event()
    discover = app.state.service.discover

    def endless(*args: Any, check: Check, **options: Any) -> Any:
        begun.set()
        try:
            while True:
                discover(*args, check=check, **options)
        finally:
            ended.set()

    monkeypatch.setattr(app.state.service, "discover", endless)
    with Running(app) as address:
        connection = request(address, "/api/v1/discover?relation=next&k=1")
        assert begun.wait(10)
        connection.close()
        assert ended.wait(10)


def test_no_question_is_endless(run: Run, question: Question) -> None:
    client = TestClient(
        serving(run, question, slow=True, seconds=0.1), base_url=HERE, headers=BEARER
    )
    refused = client.get("/ask")
    assert refused.status_code == 503
    assert "took longer than 0.1 s" in refused.json()["detail"]
    assert refused.headers["retry-after"] == "1"
    assert question.over.wait(10)


def test_time_runs_from_when_it_is_asked(run: Run) -> None:
    """One that had to wait too long for a thread is not begun."""
    computed = []

    def note(_check: Check) -> str:
        time.sleep(0.3)
        computed.append(1)
        return "told"

    app = serving(run, note, slow=True, seconds=0.2)
    with Running(app) as address:
        asked = [request(address, "/ask") for _ in range(3)]
        for one in asked:
            assert one.recv(100).startswith(b"HTTP/1.1 503")
            one.close()
        time.sleep(0.5)
    assert len(computed) == 1


def test_only_so_many_wait(run: Run, question: Question) -> None:
    app = serving(run, question, slow=False, at_once=1, waiting=2)
    with Running(app) as address:
        asked = [request(address, "/ask") for _ in range(3)]
        assert question.begun.wait(10)
        deadline = time.monotonic() + 10
        while app.state.limits.held() < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        with request(address, "/ask") as refused:
            assert refused.recv(1000).startswith(b"HTTP/1.1 503")
        question.go.set()
        for one in asked:
            assert one.recv(100).startswith(b"HTTP/1.1 200")
            one.close()
        with request(address, "/ask") as again:  # and there is room again
            assert again.recv(100).startswith(b"HTTP/1.1 200")


def test_a_body_that_does_not_arrive() -> None:
    async def app(_scope: Any, receive: Any, _send: Any) -> None:
        while True:
            await receive()

    async def silent() -> Any:
        await asyncio.sleep(10)

    async def send(_message: Any) -> None: ...

    scope = {"type": "http", "headers": []}
    with pytest.raises(Problem, match="did not arrive") as caught:
        asyncio.run(Bodies(app, bounds=Bounds(seconds=0.05))(scope, silent, send))
    assert caught.value.status == 408


def test_questions_are_answered_while_torch_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that another thread imports is there, and not whole."""
    limits = Limits(Bounds(at_once=1))
    threads: list[int] = []

    async def asked() -> str:
        with monkeypatch.context() as begun:
            begun.setitem(sys.modules, "torch", ModuleType("torch"))
            first = await limits.ask(lambda _check: "told")
        whole = ModuleType("torch")
        whole.set_num_threads = threads.append  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "torch", whole)
        return first + await limits.ask(lambda _check: " again")

    assert asyncio.run(asked()) == "told again"
    assert threads == [1]  # in the thread that computed before it was whole
    limits.close()


def test_a_question_that_outlives_its_server(caplog: pytest.LogCaptureFixture) -> None:
    """Its thread ends when it ends, and complains to nobody."""
    limits = Limits(Bounds(at_once=1))
    begun, go = threading.Event(), threading.Event()
    ended = threading.Event()

    def question(_check: Check) -> None:
        begun.set()
        assert go.wait(60)

    async def asked() -> None:
        waiting = asyncio.ensure_future(limits.ask(question))
        assert await asyncio.to_thread(begun.wait, 60)
        waiting.cancel()
        await asyncio.wait([waiting])

    asyncio.run(asked())
    after = limits._quick.threads.submit(ended.set)  # in the same thread, behind it
    go.set()
    after.result(60)
    assert ended.is_set()
    assert caplog.records == []
    limits.close()

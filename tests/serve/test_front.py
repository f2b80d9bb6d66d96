"""The map is served before the run is loaded; who asks for more waits, and a failure ends it."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from hale.errors import RunError
from hale.runs.run import load_run
from hale.serve import front
from hale.serve.asking import Bounds
from hale.serve.front import Front
from hale.serve.map.colours import Painting
from hale.serve.map.first_sight import first_sight
from hale.serve.pages import rendering
from hale.serve.pages.explorer import Explorer
from hale.serve.service import Service
from tests.serve.conftest import BEARER, HERE, TOKEN
from tests.serve.running import Running


@pytest.fixture
def explorer(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Explorer:
    for name in rendering.BUNDLE:
        (tmp_path / name).write_text("/* nothing */")
    monkeypatch.setattr(rendering, "STATIC", tmp_path)
    monkeypatch.setattr(front, "PATIENCE", 0.01)
    found = Explorer(folder, first_sight(folder))
    monkeypatch.setattr(found.atlas, "improve", lambda: None)
    return found


def test_the_map_comes_first(explorer: Explorer, folder: Path) -> None:
    may_load = threading.Event()

    def load() -> Service:
        may_load.wait(60)
        return Service(load_run(folder))

    app = Front(explorer, load, token=TOKEN, host="127.0.0.1")
    with TestClient(app, base_url=HERE, headers=BEARER) as client:
        assert client.get("/").status_code == 200
        assert client.get("/map/points").status_code == 200
        assert client.get("/complete?kind=entity&q=p1").status_code == 200
        assert explorer.service is None
        threading.Timer(0.2, may_load.set).start()
        answer = client.get("/entity?name=p1")  # waits for the run
        assert answer.status_code == 200
        assert "one" in answer.text
        assert explorer.service is not None
        assert client.get("/api/v1/run").json()["graph"] == "odd"
        assert client.get("/nowhere").status_code == 404


def test_the_map_has_the_bounds_of_every_question(
    explorer: Explorer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One computes, one waits, a third is refused; none is endless, and what is easy goes on."""
    begun, go = threading.Event(), threading.Event()
    painting = explorer.atlas.painting

    def slow(by: str) -> Painting:
        begun.set()
        go.wait(60)
        return painting(by)

    monkeypatch.setattr(explorer.atlas, "painting", slow)
    bounds = Bounds(at_once=1, waiting=1, seconds=1.0)
    app = Front(
        explorer,
        lambda: Service(load_run(folder)),
        token=TOKEN,
        host="127.0.0.1",
        bounds=bounds,
    )
    with TestClient(app, base_url=HERE, headers=BEARER) as client, ThreadPoolExecutor(2) as pool:
        try:
            asked = [pool.submit(client.get, "/map/colours?by=degree") for _ in range(2)]
            assert begun.wait(10)
            late = time.monotonic() + 10
            while app.app.state.limits.held() < 2 and time.monotonic() < late:
                time.sleep(0.01)
            for path in ("/map/points", "/map/card?id=1", "/complete?kind=entity&q=p", "/"):
                refused = client.get(path)
                assert refused.status_code == 503, path
                assert "2 questions are waiting already" in refused.text
            assert client.get("/map/status").status_code == 200
            for one in asked:
                told = one.result()
                assert told.status_code == 503
                assert "took longer than 1 s" in told.json()["detail"]
        finally:
            go.set()


def test_a_selection_has_a_bounded_size_and_arrives_in_bounded_time(
    explorer: Explorer, folder: Path
) -> None:
    bounds = Bounds(seconds=0.2, body=10)

    def app() -> Front:
        load = lambda: Service(load_run(folder))  # noqa: E731
        return Front(explorer, load, token=TOKEN, host="127.0.0.1", bounds=bounds)

    with TestClient(app(), base_url=HERE, headers=BEARER) as client:
        whole = np.arange(10, dtype="<u4").tobytes()  # all entities: more than other bodies
        assert client.post("/map/selection", content=whole).status_code == 200
        refused = client.post("/map/selection", content=whole + b"1234")
        assert refused.status_code == 413
        assert "at most 40 bytes" in refused.json()["detail"]
    with Running(app()) as address, socket.create_connection(address, timeout=20) as slow:
        head = (
            "POST /map/selection HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {TOKEN}\r\nContent-Length: 8\r\n\r\n1234"
        )
        slow.sendall(head.encode())
        assert slow.recv(100).startswith(b"HTTP/1.1 408")


def test_nobody_comes_in_without_the_token(explorer: Explorer, folder: Path) -> None:
    app = Front(explorer, lambda: Service(load_run(folder)), token=TOKEN, host="127.0.0.1")
    with TestClient(app, base_url=HERE, follow_redirects=False) as client:
        for path in ("/", "/map/points", "/complete?kind=entity&q=p", "/entity?name=p1", "/run"):
            assert client.get(path).status_code == 401, path
        led = client.get("/", params={"token": TOKEN, "entity": "p1"})
        assert (led.status_code, led.headers["location"]) == (303, "/?entity=p1")
        assert client.get("/").status_code == 200


def test_a_run_that_cannot_be_loaded_ends_the_server(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(signal, "raise_signal", lambda _number: ended.set())

    def load() -> Service:
        raise RunError("gone")

    app = Front(explorer, load, token=TOKEN, host="127.0.0.1")
    with TestClient(app, base_url=HERE, headers=BEARER) as client:
        assert ended.wait(60)
        assert str(app.failure) == "gone"
        assert client.get("/run").status_code == 500


def asked_for(app: Front, path: str) -> tuple[asyncio.Task[None], list[int]]:
    """A request of one's own, and the statuses that it is answered with."""
    told: list[int] = []
    request = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {TOKEN}".encode())],
    }

    async def receive() -> dict[str, object]:
        await asyncio.Event().wait()
        return {}

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            told.append(message["status"])

    return asyncio.ensure_future(app(request, receive, send)), told


def test_who_stops_waiting_leaves_the_run_to_the_others(explorer: Explorer, folder: Path) -> None:
    may_load = threading.Event()

    def load() -> Service:
        may_load.wait(60)
        return Service(load_run(folder))

    async def several() -> list[int]:
        app = Front(explorer, load, token=TOKEN, host="127.0.0.1")
        async with app.app.router.lifespan_context(app.app):
            (one, _), (other, told) = asked_for(app, "/run"), asked_for(app, "/run")
            await asyncio.sleep(0.05)  # both wait
            one.cancel()
            await asyncio.wait([one])
            may_load.set()
            await asyncio.wait_for(other, 60)
            return told

    assert asyncio.run(several()) == [200]


def test_a_server_that_ends_while_its_run_is_loaded(
    explorer: Explorer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told of a failure; the thread is not cut off, which inside PyTorch is a crash."""
    raised: list[int] = []
    monkeypatch.setattr(signal, "raise_signal", raised.append)
    may_load, loading = threading.Event(), threading.Event()

    def load() -> Service:
        loading.set()
        may_load.wait(60)
        raise RunError("gone")

    async def ended() -> None:
        app = Front(explorer, load, token=TOKEN, host="127.0.0.1")
        async with app.app.router.lifespan_context(app.app):
            waiting, _ = asked_for(app, "/run")
            assert await asyncio.to_thread(loading.wait, 60)
            waiting.cancel()  # as the server does that ends
        (thread,) = (one for one in threading.enumerate() if one.name == "hale-load")
        assert not thread.daemon
        may_load.set()
        thread.join(60)
        assert not thread.is_alive()
        assert app.failure is None

    asyncio.run(ended())
    assert raised == []


def test_a_server_that_ends_before_loads_nothing(
    explorer: Explorer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front, "PATIENCE", 60.0)
    loaded: list[bool] = []

    def load() -> Service:
        loaded.append(True)
        return Service(load_run(folder))

    began = time.monotonic()
    with TestClient(Front(explorer, load, token=TOKEN, host="127.0.0.1"), base_url=HERE):
        pass
    while any(one.name == "hale-load" for one in threading.enumerate()):
        assert time.monotonic() - began < 30
        time.sleep(0.01)
    assert loaded == []

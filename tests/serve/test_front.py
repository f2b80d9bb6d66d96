"""The map is served before the run is loaded; who asks for more waits, and a failure ends it."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hale.errors import RunError
from hale.runs.run import load_run
from hale.serve import front
from hale.serve.front import Front
from hale.serve.map.first_sight import first_sight
from hale.serve.pages import rendering
from hale.serve.pages.explorer import Explorer
from hale.serve.service import Service
from tests.serve.conftest import BEARER, HERE, TOKEN


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

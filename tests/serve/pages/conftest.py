"""Pages over a small run, asked as a browser asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hale.runs.run import Run
from hale.serve.app import create_app
from hale.serve.map.first_sight import first_sight
from hale.serve.pages import early_routes, late_routes, rendering
from hale.serve.pages.explorer import Explorer
from hale.serve.service import Service
from tests.serve.conftest import HERE, TOKEN


@pytest.fixture
def explorer(folder: Path) -> Iterator[Explorer]:
    found = Explorer(folder, first_sight(folder))
    yield found
    found.close()


@pytest.fixture
def browser(
    explorer: Explorer, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TestClient]:
    """Who opened the printed address, on a server whose bundle is a stand-in."""
    static = tmp_path / "static"
    static.mkdir()
    for name in rendering.BUNDLE:
        (static / name).write_text("/* nothing */")
    monkeypatch.setattr(rendering, "STATIC", static)
    service = Service(run)
    explorer.take_service(service)
    pages = [*early_routes(explorer), *late_routes(explorer)]
    with TestClient(create_app(service, token=TOKEN, pages=pages), base_url=HERE) as client:
        assert client.get("/", params={"token": TOKEN}).url == f"{HERE}/"
        yield client

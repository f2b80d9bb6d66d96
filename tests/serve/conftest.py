"""A run whose scores are known by hand, some of its names hard to carry, and who asks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient

from hale.data.graph import Graph, Vocabulary
from hale.models import make_model
from hale.runs.folder import RunFolder
from hale.runs.run import Run, load_run
from hale.serve.app import create_app
from hale.serve.service import Service
from hale.settings import make_settings

TOKEN = "a token for tests"
HERE = "http://127.0.0.1:8000"
BEARER = {"Authorization": f"Bearer {TOKEN}"}

SCRIPT = "<script>alert(1)</script>"
NAMES = ["p0", "p1", "p2", SCRIPT, "a/b?c#d&e", "ünï cödé", "p6", "p7", "p8", "p9"]


def save_odd(path: Path) -> Path:
    """Entity i sits at i, 'next' adds one, and each is itself; p8 -> p9 alone is missing."""
    after = np.array([[i, 0, i + 1] for i in range(8)])
    loop = np.array([[i, 1, i] for i in range(len(NAMES))])
    graph = Graph(
        "odd",
        Vocabulary(NAMES, "entity"),
        Vocabulary(["next", "is <b>"], "relation"),
        train=np.concatenate([after[4:], loop]),
        valid=after[:3],
        test=after[3:4],
        labels={"p1": "one", "p2": "two words", "p6": "twin", "p7": "twin", SCRIPT: "<i>label</i>"},
    )
    model = make_model("transe", graph.size, 2)
    with torch.no_grad():
        model.entity.weight.zero_()
        model.entity.weight[:, 0] = torch.arange(len(NAMES))
        shifts = torch.tensor([[1.0, 0], [0, 0], [-1, 0], [0, 0]])
        model.shift.weight.copy_(shifts)  # type: ignore[union-attr, operator]
    RunFolder.create(path, make_settings(model="transe", dim=2), graph, model.state_dict())
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run's folder, by the name that a user gives it."""
    monkeypatch.chdir(tmp_path)
    return save_odd(Path("odd"))


@pytest.fixture
def run(folder: Path) -> Run:
    return load_run(folder)


@pytest.fixture
def service(run: Run) -> Service:
    return Service(run)


@pytest.fixture
def stranger(run: Run) -> Iterator[TestClient]:
    """Who has no token."""
    app = create_app(run, token=TOKEN)
    with TestClient(app, base_url=HERE, follow_redirects=False) as client:
        yield client


@pytest.fixture
def client(stranger: TestClient) -> TestClient:
    """Who has it."""
    stranger.headers.update(BEARER)
    return stranger

"""Runs and files, each in a working folder of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hale.data.graph import Graph, Vocabulary
from hale.data.types import Types
from tests.answers.test_discovery import homes
from tests.cli.invoke import FAST, hale, save_untrained
from tests.conftest import ring


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder in a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    graph = ring(24)
    (tmp_path / "data").mkdir()
    for split in ("train", "valid", "test"):
        lines = [
            f"{graph.entities[h]}\t{graph.relations[r]}\t{graph.entities[t]}\n"
            for h, r, t in graph.split(split).tolist()
        ]
        (tmp_path / "data" / f"{split}.txt").write_text("".join(lines))
    (tmp_path / "data" / "labels.tsv").write_text("e000\tthe first\n")
    return tmp_path / "data"


@pytest.fixture
def trained(folder: Path) -> Path:
    """A run that was trained by the command on the data folder."""
    result = hale("train", folder, "--epochs", 100, "--out", "runs/x", *FAST)
    assert result.exit_code == 0, result.stderr
    return Path("runs/x")


@pytest.fixture
def run(tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that was not trained."""
    monkeypatch.chdir(tmp_path)
    save_untrained(tmp_path / "run", graph)
    return Path("run")


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of persons who live in towns and know each other, with types of both."""
    monkeypatch.chdir(tmp_path)
    graph = homes()
    pairs = [(i, 0) for i in range(12)] + [(i, 1) for i in (12, 13, 14)]
    entities, types = np.array(pairs).T
    kept = Types(Vocabulary(["person", "town"], "type"), entities, types)
    save_untrained(tmp_path / "run", replace(graph, types=kept))
    return Path("run")

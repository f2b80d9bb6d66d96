"""What the shell offers, asked as the shell asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hale.data.graph import Graph, Vocabulary
from tests.cli.invoke import hale, save_untrained

NAMES = ["dog.n.01", "dogma.n.01", "cat", "dog $(touch x)", "dog`x`", "do it", "Zoë"]


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    graph = Graph(
        "named",
        Vocabulary(NAMES, "entity"),
        Vocabulary(["hypernym", "similar_to"], "relation"),
        *(np.empty((0, 3), dtype=np.int64) for _ in range(3)),
        labels={"cat": "domestic cat"},
    )
    save_untrained(tmp_path / "run", graph)
    return Path("run")


def offered(line: str) -> list[str]:
    """The answers to TAB at the end of a line, in bash's way of asking."""
    words = line.split(" ")
    asked = {
        "_HALE_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    code = (
        "import sys; sys.argv = ['hale']\nfrom hale.cli import app\n"
        "try:\n    app(prog_name='hale')\n"
        "finally:\n    assert 'torch' not in sys.modules, 'waits for torch'"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **asked}
    )
    assert "waits for torch" not in done.stderr
    assert "Traceback" not in done.stderr.replace("SystemExit", "")
    return [name for name in done.stdout.splitlines() if name]


def test_entities_of_the_run_on_the_line(named: Path) -> None:
    expected = ["do it", "dog.n.01", "dogma.n.01", "domestic cat"]
    assert offered("hale predict run --head do") == expected  # and none that a shell obeys
    assert offered("hale predict run --head dog.n.01 --tail c") == ["cat"]
    assert offered("hale neighbors run Z") == ["Zoë"]
    assert offered("hale why run cat hypernym dogm") == ["dogma.n.01"]


def test_relations_of_the_run_on_the_line(named: Path) -> None:
    assert offered("hale predict run --head cat --relation h") == ["hypernym"]
    assert offered("hale discover run --relation s") == ["similar_to"]
    assert offered("hale why run cat hy") == ["hypernym"]


def test_no_run_no_names(named: Path) -> None:
    assert offered("hale predict nowhere --head do") == []
    assert offered("hale predict --head do") == []


def test_commands(named: Path) -> None:
    assert offered("hale fi") == ["find"]


def test_help_names_the_way_to_install_it() -> None:
    assert "--install-completion" in hale("--help").stdout

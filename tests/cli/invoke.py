"""Calling hale as a user does, and the runs that tests ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from typer.testing import CliRunner, Result

from hale.cli.app import app
from hale.data.graph import Graph
from hale.models import make_model
from hale.runs.folder import RunFolder
from hale.settings import make_settings
from tests.line_run import line_run

FAST = ["--dim", "8", "--batch-size", "32", "--queries", "8"]


def hale(*arguments: object, **options: Any) -> Result:
    """What a command prints, and its status."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def as_json(result: Result) -> dict[str, Any]:
    """The one object on stdout of a command that went well."""
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 1, "one object, one line"
    found: dict[str, Any] = json.loads(lines[0])
    return found


def save_untrained(path: Path, graph: Graph) -> Path:
    """A run with an untrained model: answers need not be good, only the same everywhere."""
    torch.manual_seed(0)
    weights = make_model("rotl", graph.size, 8).state_dict()
    RunFolder.create(path, make_settings(model="rotl", dim=8), graph, weights)
    return path


def save_line(path: Path) -> Path:
    """The run of points on a line, whose distances are known."""
    made = line_run()
    RunFolder.create(path, made.settings, made.graph, made.model.state_dict())
    return path


def assert_refused(arguments: list[str], message: str, *, beside: list[str] | None = None) -> None:
    """One message that says so, status 2, nothing on stdout; ``beside`` is all that lies there."""
    result = hale(*arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert beside is None or [path.name for path in Path().iterdir()] == beside

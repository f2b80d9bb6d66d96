"""The page about the house: its picture is drawn from the imports, and its paths exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "hale"


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    path = ROOT / "scripts" / "draw_architecture.py"
    spec = importlib.util.spec_from_file_location("draw_architecture", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_of_the_house_as_it_stands(drawing: ModuleType) -> None:
    drawn = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf-8")
    assert drawn == drawing.draw(), "stale: run python scripts/draw_architecture.py"


def test_every_package_is_in_the_picture(drawing: ModuleType) -> None:
    there = {path.stem for path in SOURCE.iterdir() if not path.name.startswith(("_", "py."))}
    assert set(drawing.packages()) == there
    assert ("data", "errors") in drawing.imports()
    assert ("errors", "data") not in drawing.imports()


def paths(text: str) -> list[str]:
    """What stands in backticks and looks like a path below src/hale."""
    return re.findall(r"`([a-z_]+(?:/[\w*-]+)*/(?:[\w*-]+\.\w+)?|[a-z_]+\.py)`", text)


def test_the_walk_names_each_file_once() -> None:
    walk = PAGE[PAGE.index("## The walk") : PAGE.index("## To change")]
    named = [path for path in paths(walk) if path != "native/"]
    assert len(named) >= 40
    assert len(named) == len(set(named)), [path for path in named if named.count(path) > 1]
    for path in named:
        assert (SOURCE / path).is_file(), path


def test_the_table_leads_somewhere() -> None:
    rows = [line for line in PAGE[PAGE.index("| to change") :].splitlines() if line.startswith("|")]
    assert len(rows) >= 22  # twenty, and the head
    for row in rows[2:]:
        _, _, code, tests, _ = row.split("|")
        for path in [*paths(code), *paths(tests)]:
            known = path.replace(
                "NAME", "train" if path.startswith(("cli", "tests/cli")) else "hale"
            )
            if path == "models/NAME.py":
                known = "models/rotl.py"
            root = ROOT if path.startswith(("tests", "native")) else SOURCE
            assert list(root.glob(known.rstrip("/"))), path

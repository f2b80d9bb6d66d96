"""The house: a room imports only from rooms above it, and the public surface is what it says."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import hale

SOURCE = Path(hale.__file__).parent

# Top to bottom: a package imports only from those above it, and from itself.
ROOMS = [
    "errors",
    "settings",
    "data",
    "engine",
    "models",
    "objectives",
    "runs",
    "evaluation",
    "training",
    "answers",
    "export",
    "lab",
    "cli",
    "__main__",
]


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "hale":
            found |= {alias.name for alias in node.names if alias.name != "__version__"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hale."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("hale.")}
    return found


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def test_every_module_has_a_room() -> None:
    assert {room_of(path) for path in MODULES} == set(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_upwards(path: Path) -> None:
    mine = ROOMS.index(room_of(path))
    below = {room for room in imported_rooms(path) if ROOMS.index(room) > mine}
    assert not below, f"{path.name} imports from {below}, which stand below it"


@pytest.mark.parametrize("room", ["models", "objectives"])
def test_no_device_is_named(room: str) -> None:
    for path in [SOURCE / f"{room}.py", *(SOURCE / room).glob("*.py")]:
        if path.exists():
            text = path.read_text()
            assert not any(f'"{name}"' in text or f".{name}()" in text for name in ("cuda", "mps"))
            assert '"cpu"' not in text


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_pickle(path: Path) -> None:
    names = {
        node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        for node in ast.walk(ast.parse(path.read_text()))
    }
    assert "pickle" not in names
    assert "import pickle" not in path.read_text()
    assert "torch.load(" not in path.read_text()


def test_public_surface() -> None:
    assert set(dir(hale)) == set(hale.__all__)
    for name in hale.__all__:
        assert getattr(hale, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = hale.nothing


@pytest.mark.parametrize("name", sorted(set(hale.__all__) - set(hale._MODULES)))
def test_no_module_hides_a_public_name(name: str) -> None:
    """Importing hale.x sets hale's attribute x, whatever else it was."""
    assert not (SOURCE / f"{name}.py").exists()
    assert not (SOURCE / name).exists()


def test_reading_a_graph_does_not_import_torch() -> None:
    code = "import sys, hale; hale.load('wordnet'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

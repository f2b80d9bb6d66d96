"""The house: a room imports only from rooms above it, and the public surface is what it says."""

from __future__ import annotations

import ast
import re
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
    "serve",
    "lab",
    "cli",
    "__main__",
]


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """All modules that a file names in an import, wherever it stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def imported_rooms(path: Path) -> set[str]:
    names = {name.split(".")[1] for name in imported(path) if name.startswith("hale.")}
    return names - {"__version__"}


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def test_the_root_is_the_architecture() -> None:
    beside = {"__init__.py", "__main__.py", "__pycache__", "py.typed"}
    entries = {
        path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.name not in beside
    }
    assert entries == set(ROOMS) - {"__main__"}
    assert len(entries) <= 15


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_upwards(path: Path) -> None:
    mine = ROOMS.index(room_of(path))
    below = {room for room in imported_rooms(path) if ROOMS.index(room) > mine}
    assert not below, f"{path.name} imports from {below}, which stand below it"


def test_only_the_command_line_prints_by_rich_and_typer() -> None:
    users = {
        name_of(path)
        for path in MODULES
        if any(name.split(".")[0] in ("rich", "typer") for name in imported(path))
    }
    assert users
    assert all(user.startswith("cli/") for user in users), users


def test_only_one_module_renames() -> None:
    """Whoever writes a whole file does it by hale.data.files."""
    renames = re.compile(r"\.(rename|replace)\((?=[^\"',]*\))|os\.(rename|replace)|shutil\.move")
    users = {name_of(path) for path in MODULES if renames.search(path.read_text())}
    assert users == {"data/files.py"}


def test_no_two_modules_share_a_name() -> None:
    stems = [path.stem for path in MODULES if room_of(path) != "cli"]
    shared = {stem for stem in stems if stems.count(stem) > 1}
    assert shared <= {"__init__", "base"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_file_is_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300


def test_tests_stand_where_their_modules_do() -> None:
    """A test of a package is in the folder of that name; what tests the whole is at the root."""
    tests = Path(__file__).parent
    packages = {path.parent.relative_to(SOURCE) for path in MODULES}
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    assert folders - packages <= {Path("browser"), Path("docs"), Path("scripts")}


@pytest.mark.parametrize("room", ["models", "objectives"])
def test_no_device_is_named(room: str) -> None:
    for path in (SOURCE / room).glob("*.py"):
        text = path.read_text()
        assert not any(f'"{name}"' in text or f".{name}()" in text for name in ("cuda", "mps"))
        assert '"cpu"' not in text


@pytest.mark.parametrize("path", MODULES, ids=name_of)
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


@pytest.mark.parametrize("room", ["settings", "data"])
def test_data_and_settings_need_no_torch(room: str) -> None:
    names = [
        ".".join(("hale", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in MODULES
        if room_of(path) == room
    ]
    code = f"import sys, importlib; [importlib.import_module(name) for name in {names}]; "
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_reading_a_graph_does_not_import_torch() -> None:
    code = "import sys, hale; hale.load('wordnet'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

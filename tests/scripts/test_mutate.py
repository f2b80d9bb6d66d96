"""The mutation command: what it changes, what it leaves alone, and that it tells who noticed."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
mutants, mutate = (importlib.import_module(name) for name in ("mutants", "mutate"))

SOURCE = '''
"""A docstring of 1 + 1."""
from math import pi

__all__ = ["share"]
LIMIT: int = 10


def share(part: float, whole: float = 1.0) -> float:
    """More than 0."""
    if not whole or part > LIMIT:
        raise ValueError(f"{part + 1} of {whole}")
    return min(part, whole) / whole
'''


def test_each_change_is_made_alone_and_texts_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "share.py"
    file.write_text(SOURCE)
    found = mutants.mutants_of(file, tmp_path)
    test = "if not whole or part > LIMIT:"
    back = "return min(part, whole) / whole"
    assert [mutant.change for mutant in found] == [
        "LIMIT: int = 10 -> LIMIT: int = 11",
        "...are(part: float, whole: float=1.0) -> float: -> "
        "...are(part: float, whole: float=2.0) -> float:",
        f"{test} -> if not (not whole or part > LIMIT):",
        f"{test} -> if not whole and part > LIMIT:",
        f"{test} -> if whole or part > LIMIT:",
        f"{test} -> if not whole or part >= LIMIT:",
        "raise ValueError(f'{part + 1} of {whole}') -> pass",
        f"{back} -> return None",
        f"{back} -> return min(part, whole) * whole",
        f"{back} -> return min(part) / whole",
        f"{back} -> return max(part, whole) / whole",
    ]
    assert {mutant.scope for mutant in found} == {"", "share"}
    results = []
    for mutant in found[-2:]:
        space: dict[str, object] = {}
        exec(compile(mutants.mutated(SOURCE, mutant), "share.py", "exec"), space)
        results.append(space["share"])
    with pytest.raises(TypeError):
        results[0](1.0, 2.0)
    assert results[1](1.0, 2.0) == 1.0, "the larger of both"


def test_survivors_are_told(tmp_path: Path) -> None:
    """The test below knows a half, and nothing of the limit or the default."""
    (tmp_path / "src" / "part").mkdir(parents=True)
    (tmp_path / "src" / "part" / "share.py").write_text(SOURCE)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_share.py").write_text(
        "import sys\nsys.path.insert(0, 'src')\nfrom part.share import share\n"
        "def test_half():\n    assert share(2.0, 4.0) == 0.5\n"
    )
    (tmp_path / "mutate.toml").write_text(
        "packages.part = { source = ['src/part'], tests = ['tests'] }\n"
        "equivalent = [{ change = '=1.0) -> float: ->', why = 'No test of defaults.' }]\n"
    )
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *identity, *command], cwd=tmp_path, check=True)
    options = ["--root", tmp_path, "--config", tmp_path / "mutate.toml", "--json", "found.json"]

    def measured(*more: str) -> dict[str, Any]:
        command = [sys.executable, ROOT / "scripts" / "mutate.py", *map(str, options), *more]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        found: dict[str, Any] = json.loads((tmp_path / "found.json").read_text())
        return found["now"]["part"]  # type: ignore[no-any-return]

    entry = measured()
    assert (entry["mutants"], entry["sample"]) == (11, 11)
    assert [(m["line"], m["equivalent"]) for m in entry["survivors"]] == [
        (6, None),  # the limit
        (9, "No test of defaults."),
        (11, None),  # 'and' for 'or'
        (11, None),  # '>=' for '>'
        (12, None),  # no error
    ]
    assert (entry["killed"], entry["survived"], entry["equivalent"]) == (6, 5, 1)
    assert entry["share_survived"] == 0.4
    page = mutate.page({"now": {"part": entry}})
    assert "| part | now |" in page
    assert "| 11 | 11 | 5 | 1 | 40.0% |" in page
    assert "- No test of defaults. `share.py`: `" in page
    test = tmp_path / "tests" / "test_share.py"
    test.write_text(
        test.read_text() + "import pytest\ndef test_limit():\n"
        "    with pytest.raises(ValueError):\n        share(11.0, 12.0)\n"
    )
    again = measured("--again")
    assert [m["line"] for m in again["survivors"]] == [9, 11], "the default, and '>=' for '>'"
    assert (again["sample"], again["killed"], again["survived"]) == (11, 9, 2)
    assert again["share_survived"] == 0.1

"""The code of docs/python.md, run as it stands there but for a shorter training."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hale.training.tracking import TRACKERS

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    assert code.count('budget="10s"') == 1
    scope: dict[str, Any] = {}
    exec(code.replace('budget="10s"', "epochs=1"), scope)
    assert scope["run"].path == Path("runs/mine")
    assert scope["verdicts"].height == 2
    assert scope["answers"].height == 6
    assert scope["missing"].height == 20
    assert scope["turns"].shape == (32,)
    told = capsys.readouterr()
    assert "entity dog.n.01 dog, domestic dog, Canis familiaris" in told.out
    assert "valid MRR" in told.err


def test_all_trackers_are_there() -> None:
    assert re.findall(r"^\| `(\w+)` \| `pip", PAGE, re.MULTILINE) == [*TRACKERS]

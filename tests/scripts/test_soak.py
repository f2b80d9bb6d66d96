"""What a long load is judged by."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts/soak"))
soak, soak_page = (importlib.import_module(name) for name in ("soak", "soak_page"))


def rows(count: int = 100, **grown: float) -> list[dict[str, float]]:
    """Rounds of two processes; what is ``grown`` becomes larger by so much, evenly."""
    start = {"mb": 500.0, "handles": 20, "threads": 5}
    return [
        {
            f"{name}_{what}": value + grown.get(f"{name}_{what}", 0) * i / count
            for name in soak_page.PROCESSES
            for what, value in start.items()
        }
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("grown", "differed", "faults"),
    [
        ({}, 0, []),
        ({"python_mb": 12.0}, 0, []),  # 64 % of it between the fifths: 7.7 of 500 MB
        ({"python_mb": 20.0}, 0, ["train, update, predict in one process: memory grew"]),
        ({"serve_mb": 20.0}, 0, ["hale serve: memory grew"]),
        ({"serve_handles": 3}, 0, ["hale serve: handles grew"]),
        ({"serve_threads": 3}, 0, []),  # a pool that starts some late
        ({"python_threads": 9}, 0, ["train, update, predict in one process: threads grew"]),
        ({}, 2, ["answers differed from the first in 2 rounds"]),
    ],
)
def test_what_is_a_fault(grown: dict[str, float], differed: int, faults: list[str]) -> None:
    found = soak_page.judged({"rows": rows(**grown), "differed": differed})["faults"]
    assert len(found) == len(faults)
    assert all(one.startswith(start) for one, start in zip(found, faults, strict=True))


def test_what_grows_in_the_warm_up_alone_is_none() -> None:
    made = rows()
    for i in range(20):
        made[i]["serve_mb"] = 10.0 * i
    assert soak_page.judged({"rows": made, "differed": 0})["faults"] == []


def test_few_rounds_show_nothing() -> None:
    assert soak_page.judged({"rows": rows(9), "differed": 0})["faults"] == [
        "fewer than ten rounds: too short"
    ]


def test_rounds_are_work_and_load_and_their_answers_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "REQUESTS", 20)
    monkeypatch.setattr(soak, "SIZE", 40)
    found: dict[str, Any] = soak.soak(1.0, tmp_path, print)
    assert found["rows"]
    assert found["differed"] == 0
    assert found["rows"][0]["serve_mb"] > 50
    assert {"python_handles", "serve_threads"} <= set(found["rows"][0])

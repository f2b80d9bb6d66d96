"""hale show as a user meets it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.invoke import as_json, hale


def test_show_and_plot(trained: Path, tmp_path: Path) -> None:
    found = as_json(hale("show", trained, "--json"))
    assert found["settings"]["epochs"] == 100
    assert len(found["history"]) == 10
    assert found["metrics"]["test"]["mrr"] > 0
    # 24 entities of 8, 4 relations of 8 twice, a factor and a scale each
    assert found["parameters"] == 24 * 8 + 4 * (8 + 8 + 1 + 1)
    shown = hale("show", trained, "--plot", tmp_path / "curve.png")
    assert shown.exit_code == 0
    assert "stopped_by" in shown.stdout
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert hale("show", trained, "--plot", tmp_path / "curve.xyz").exit_code == 2


def test_the_engine_is_told() -> None:
    shown = hale("show", "--engine")
    assert shown.exit_code == 0
    assert re.match(
        r"engine: native \(the \w+ build suits this processor\), \d+ threads", shown.stdout
    )
    assert as_json(hale("show", "--engine", "--json"))["engine"] == "native"
    assert hale("show").exit_code == 2


def test_what_is_told_of_relations(trained: Path) -> None:
    found = as_json(hale("show", trained, "--relations", "--json"))["relations"]
    assert found["next"]["facts"] > 0
    assert set(found["next"]) >= {"functional", "inverse_functional", "symmetric", "loops", "heads"}
    shown = hale("show", trained, "--relations")
    assert shown.exit_code == 0
    assert "next" in shown.stdout
    assert "delta" in shown.stdout

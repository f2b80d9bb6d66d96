"""hale align as a user meets it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from hale.data.graph import Vocabulary
from tests.cli.invoke import as_json, assert_refused, hale, save_untrained
from tests.conftest import ring

SHORT = ["--dim", "8", "--budget", "0.2s", "--rounds", "1", "--threads", "1"]


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two runs on rings of one length, and the twenty of their thirty pairs that are known."""
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        save_untrained(tmp_path / name, ring(30))
    Path("pairs.tsv").write_text("".join(f"e{i:03}\te{i:03}\n" for i in range(20)))
    return ["align", "one", "two", "--seeds", "pairs.tsv"]


def test_matches_as_json_and_as_a_table(pairs: list[str]) -> None:
    found = as_json(hale(*pairs, *SHORT, "--json"))
    assert (found["left"], found["right"]) == ("one", "two")
    assert found["matches"]
    for match in found["matches"]:
        assert 0 <= match["confidence"] <= 1
        assert match["left"] != match["right"] or int(match["left"][1:]) >= 20
    shown = hale(*pairs, *SHORT, "--rows", "1")
    assert shown.exit_code == 0, shown.stderr
    assert "matches, surest first" in shown.stdout


def test_matches_in_a_file_from_a_confidence_on(pairs: list[str]) -> None:
    assert hale(*pairs, *SHORT, "--least", "1", "--out", "m.csv").exit_code == 0
    frame = pl.read_csv("m.csv")
    assert frame.columns[:4] == ["left", "right", "confidence", "margin"]
    assert (frame["confidence"] >= 1).all()


def test_names_that_a_spreadsheet_would_compute(tmp_path: Path, pairs: list[str]) -> None:
    graph = ring(30)
    formulas = Vocabulary([f"=e{i:03}" for i in range(30)], "entity")
    save_untrained(tmp_path / "three", replace(graph, entities=formulas))
    Path("pairs.tsv").write_text("".join(f"e{i:03}\t=e{i:03}\n" for i in range(20)))
    asked = ["three" if word == "two" else word for word in pairs]
    for safe, begins in (([], "=e"), (["--csv-safe"], "'=e")):
        assert hale(*asked, *SHORT, *safe, "--out", "m.csv").exit_code == 0
        frame = pl.read_csv("m.csv")
        assert len(frame)
        assert frame["right"].str.starts_with(begins).all()
        assert frame["left"].str.starts_with("e").all()


def test_a_budget_that_is_no_time(pairs: list[str]) -> None:
    given = [word for word in pairs if not word.startswith("--budget")]
    assert_refused([*given, "--budget", "soon"], "a time looks like 60s, 10m or 1.5h, got 'soon'")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"two": "three"}, "There is no run three"),
        ({"pairs.tsv": "few.tsv"}, "20 known pairs or more, got 3"),
        ({"pairs.tsv": "bad.tsv"}, "Unknown entity 'x'"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    pairs: list[str], change: dict[str, str], message: str
) -> None:
    Path("few.tsv").write_text("".join(f"e{i:03}\te{i:03}\n" for i in range(3)))
    Path("bad.tsv").write_text("x\te001\n")
    assert_refused([change.get(word, word) for word in pairs], message)

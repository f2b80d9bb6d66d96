"""hale reproduce as a user meets it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from hale.data.files import write_json
from hale.evaluation.ranking_revision import RANKING_REVISION
from hale.lab.paper import EXPERIMENTS
from tests.cli.invoke import as_json, hale
from tests.lab.paper.test_experiments import finished_cell


def test_reproduce_lists_renders_and_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = hale("reproduce", "table3", "--dataset", "wn18rr", "--model", "rotl", "--list")
    assert "wn18rr-hale-rotl-32-s0-x1" in listed.stdout
    assert "4 cells" in listed.stdout  # SamNeg and HaLE, each by a search and as its authors say
    row = hale(
        "reproduce", "table5", "--dataset", "wn18rr", "--system", "hale-rotl-square", "--list"
    )
    assert "1 cells" in row.stdout
    page = as_json(hale("reproduce", "--render", "--out", "results", "--json"))["page"]
    assert "not run yet" in Path(page).read_text()
    for arguments, says in (
        (["table9"], "Did you mean"),
        ([], "Name a table or figure"),
        (["table3", "--dataset", "codex-s"], "No cell of table3"),
        (["table3", "--system", "hale-rotl-no-squares"], "Did you mean"),
    ):
        result = hale("reproduce", *arguments)
        assert result.exit_code == 2
        assert says in result.stderr


def test_stale_cells_are_listed_as_left_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was ranked by other rules is as good as missing."""
    monkeypatch.chdir(tmp_path)
    entry = EXPERIMENTS["table3"].select(("wn18rr",), ("rotl",), ("hale",))[0]
    old = finished_cell(entry, ranking_revision=RANKING_REVISION - 1)
    cells = Path("results/cells")
    cells.mkdir(parents=True)
    write_json(cells / f"{old.key}.json", asdict(old))
    asked = ["reproduce", "table3", "--dataset", "wn18rr", "--system", "hale-rotl"]
    listed = hale(*asked, "--list", "--out", "results").stdout
    assert "stale" in next(line for line in listed.splitlines() if f"{old.key} " in line)
    assert "0.3 h of training left" in listed, "two cells of 600 s"


def test_the_status_of_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = as_json(hale("reproduce", "--status", "--out", "results", "--json"))
    assert {cell["state"] for cell in found["cells"]} == {"missing"}
    hours = sum(cell["seconds"] for cell in found["cells"]) / 3600
    assert found["hours"]["cells"] == pytest.approx(hours)
    shown = hale("reproduce", "--status", "--out", "results").stdout
    assert "wn18rr-samneg-rotl-32-s0-x1" in shown
    assert "h of training left" in shown
    listed = hale("reproduce", "planned", "--dataset", "wn18rr", "--system", "hale-rotl", "--list")
    assert "wn18rr-hale-rotl-32-s2-x1" in listed.stdout
    refused = hale("reproduce", "table3", "--tune")
    assert refused.exit_code == 2
    assert "--source" in refused.stderr


def test_cells_of_no_plan_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    entry = EXPERIMENTS["table3"].select(("wn18rr",), ("rotl",), ("hale",))[0]
    cells = Path("results/cells")
    cells.mkdir(parents=True)
    for scale in (1.0, 0.1):
        cell = finished_cell(entry, scale=scale)
        write_json(cells / f"{cell.key}.json", asdict(cell))
    found = as_json(hale("reproduce", "--status", "--out", "results", "--json"))
    assert found["not planned"] == ["wn18rr-hale-rotl-32-s0-x0.1"]
    shown = hale("reproduce", "--status", "--out", "results").stdout
    line = next(line for line in shown.splitlines() if "s0-x0.1 " in line)
    assert "not planned" in line
    assert "can be deleted" in line
    page = as_json(hale("reproduce", "--render", "--out", "results", "--json"))["page"]
    assert "x 0.1)" not in Path(page).read_text()


def test_the_plan_leaves_out_what_was_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be trained for hours, and be stale once its row is searched."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hale.lab.paper.searches.HOME", tmp_path)
    asked = ["reproduce", "planned", "--dataset", "wn18rr", "--system", "samneg-rotate"]
    done = hale(*asked, "--out", "results")
    assert done.exit_code == 0, done.stderr
    assert "left out: its row has not been searched (--tune)" in done.stderr.replace("\n", " ")
    assert not list(tmp_path.glob("runs/**/settings.json"))


def test_cells_that_fail_are_told_by_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data/wn18rr"
    folder.mkdir(parents=True)
    (folder / "train.txt").write_text("no triple\n")
    monkeypatch.setenv("HALE_DATA", str(tmp_path / "data"))
    asked = ["reproduce", "table3", "--dataset", "wn18rr", "--model", "rotl", "--out", "results"]
    result = hale(*asked, "--runs", "cells", "--scale", 0.0001)
    assert result.exit_code == 2
    assert result.stderr.count("\nfailed: ") == 4
    assert result.stderr.count("error: ") == 1
    assert "error: 4 of 4 cells failed" in result.stderr

"""hale find, as a user meets it."""

from __future__ import annotations

from pathlib import Path

from tests.cli.invoke import as_json, assert_refused, hale


def test_names_with_their_labels(run: Path) -> None:
    shown = hale("find", run, "FIRST")
    assert shown.exit_code == 0
    assert "e000" in shown.stdout
    assert "the first" in shown.stdout
    assert as_json(hale("find", run, "e00", "-k", 2, "--json")) == {
        "run": str(run),
        "text": "e00",
        "found": [
            {"kind": "entity", "name": "e000", "label": "the first", "how": "start"},
            {"kind": "entity", "name": "e001", "label": "twin", "how": "start"},
        ],
    }


def test_relations_too_and_no_column_of_labels_without_any(run: Path) -> None:
    shown = hale("find", run, "nxt").stdout
    assert "next" in shown
    assert "relation" in shown
    assert "label" not in shown


def test_nothing_found_is_no_error(run: Path) -> None:
    result = hale("find", run, "zzzzz")
    assert result.exit_code == 0
    assert result.stdout == "no name is like 'zzzzz'\n"
    assert as_json(hale("find", run, "zzzzz", "--json"))["found"] == []


def test_refused(run: Path) -> None:
    assert_refused(["find", "nowhere", "x"], "nowhere: there is no such file")
    assert_refused(["find", str(run), ""], "Give some letters")
    assert_refused(["find", str(run), "x", "-k", "0"], "at least 1")

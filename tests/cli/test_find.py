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
    assert result.stdout == "no name or label is like 'zzzzz'\n"
    assert f"Try fewer letters, such as hale find {run} zz" in result.stderr
    assert "24 entities: e000, e001, e002, e003, e004, ...\n" in result.stderr
    assert "2 relations: next, skip\n" in result.stderr
    assert "labels;" not in result.stderr, "it has some"
    assert as_json(hale("find", run, "zzzzz", "--json"))["found"] == []


def test_refused(run: Path) -> None:
    assert_refused(["find", "nowhere", "x"], "nowhere: there is no such file")
    assert_refused(["find", str(run), ""], "Give some letters")
    assert_refused(["find", str(run), "x", "-k", "0"], "at least 1")


def test_a_graph_without_labels_says_so(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("ada\tknows\tbob\nbob\tknows\teve\n")
    shown = hale("find", tmp_path / "facts.tsv", "zzzzz")
    assert shown.exit_code == 0
    assert "3 entities: ada, bob, eve\n1 relations: knows\n" in shown.stderr
    assert "no labels; hale train --labels FILE" in shown.stderr
